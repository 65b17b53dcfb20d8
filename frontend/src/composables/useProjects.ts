import { useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { keys } from '@/api/keys'
import * as projects from '@/api/projects'

export const useProjects = () => useQuery({ queryKey: keys.projects, queryFn: () => projects.listProjects(), select: (page) => page.items })

export function useProject(id: MaybeRefOrGetter<string | null>) {
  return useQuery({
    queryKey: computed(() => keys.project(toValue(id) ?? '')),
    queryFn: () => projects.getProject(toValue(id)!),
    enabled: () => Boolean(toValue(id)),
  })
}

export function useCreateProject() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: projects.createProject,
    onSuccess: () => client.invalidateQueries({ queryKey: keys.projects }),
  })
}
