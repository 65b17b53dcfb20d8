import { computed, ref, watch } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRoute, useRouter } from 'vue-router'
import type { Project } from '@/api/types'
import { bestMatches } from '@/lib/match'
import { useProjectList } from './useProjects'

export const PROJECT_SORTS = ['updated', 'created', 'title'] as const
export type ProjectSort = (typeof PROJECT_SORTS)[number]
const MOST = 500

export function sortProjects(projects: readonly Project[], by: ProjectSort, locale: string): Project[] {
  const used = (project: Project) => project.updated_at ?? project.created_at
  const order: Record<ProjectSort, (a: Project, b: Project) => number> = {
    updated: (a, b) => used(b).localeCompare(used(a)),
    created: (a, b) => b.created_at.localeCompare(a.created_at),
    title: (a, b) => a.name.localeCompare(b.name, locale),
  }
  return [...projects].sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false) || order[by](a, b))
}

/** The projects as their page shows them: the filters live in the address, what is picked does not. */
export function useProjectTable() {
  const { locale } = useI18n()
  const route = useRoute()
  const router = useRouter()
  const set = (name: string, value: string) => void router.replace({ query: { ...route.query, [name]: value || undefined } })
  const words = ref('')
  const archived = computed({ get: () => route.query.archived === '1', set: (on: boolean) => set('archived', on ? '1' : '') })
  const sort = computed<ProjectSort>({
    get: () => PROJECT_SORTS.find((name) => name === route.query.sort) ?? 'updated',
    set: (value) => set('sort', value === 'updated' ? '' : value),
  })
  const list = useProjectList(() => (archived.value ? { archived: 'true' } : {}))
  const items = computed(() => {
    const sorted = sortProjects(list.data.value ?? [], sort.value, locale.value)
    return words.value.trim() ? bestMatches(sorted, words.value, (project) => `${project.name} ${project.description ?? ''}`, MOST) : sorted
  })

  const chosen = ref(new Set<string>())
  const picked = computed(() => items.value.filter((project) => chosen.value.has(project.id)))
  const pick = (id: string, on: boolean) => (chosen.value = new Set([...chosen.value].filter((other) => other !== id).concat(on ? [id] : [])))
  const pickAll = (on: boolean) => (chosen.value = new Set(on ? items.value.map((project) => project.id) : []))
  watch(archived, () => pickAll(false))
  return { list, items, words, sort, archived, picked, pick, pickAll, isPicked: (id: string) => chosen.value.has(id) }
}
