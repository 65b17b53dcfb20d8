import { useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { keys } from '@/api/keys'
import * as projects from '@/api/projects'
import type { Page, Project } from '@/api/types'

/** Pinned ones first, else as the server orders them. */
const pinnedFirst = ({ items }: Page<Project>): Project[] => [...items].sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false))

export const useProjects = () => useQuery({ queryKey: keys.projects, queryFn: () => projects.listProjects(), select: pinnedFirst })
export const useProjectList = (filter: MaybeRefOrGetter<projects.ProjectFilter>) =>
  useQuery({ queryKey: computed(() => keys.projectList(toValue(filter))), queryFn: () => projects.listProjects(toValue(filter)), select: pinnedFirst })

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
