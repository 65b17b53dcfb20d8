import { computed, ref, watch, type Ref } from 'vue'
import type { Tool } from '@/api/types'
import { bestMatches } from '@/lib/match'
import { replaceTrigger, triggerAt } from '@/lib/suggest'
import { useFileNames } from './useFileNames'
import { useFolder } from './useFiles'
import { useToolWords } from './useToolWords'

export interface Suggestion {
  id: string
  label: string
  detail: string
  folder: boolean
  /** What stands in the text afterwards. */
  insert: string
}

const MOST = 8

/** The menu over the composer: commands after `/`, files of the project after `@`. */
export function useSuggestions(text: Ref<string>, field: Ref<HTMLTextAreaElement | null>, tools: Ref<Tool[]>, projectId: Ref<string | null>, onFile: (path: string) => void) {
  const { toolName, toolAbout } = useToolWords()
  const about = (tool: Tool) => [toolName(tool.name), toolAbout(tool)].filter((part) => part !== tool.name).join(' · ')
  const cursor = ref(0)
  const active = ref(0)
  const dismissed = ref(false)
  const trigger = computed(() => triggerAt(text.value, cursor.value))
  const folder = computed(() => (trigger.value?.kind === 'file' ? trigger.value.query.split('/').slice(0, -1).join('/') : ''))
  const wantsFiles = computed(() => (trigger.value?.kind === 'file' ? projectId.value : null))
  const files = useFolder(wantsFiles, folder)
  const names = useFileNames(wantsFiles)
  /** Of the whole project, and of the folder that is typed, however big the project is. */
  const known = computed(() => [...new Map([...files.items.value, ...names.entries.value].map((file) => [file.path, file])).values()])

  const items = computed<Suggestion[]>(() => {
    const asked = trigger.value
    if (!asked || dismissed.value) return []
    if (asked.kind === 'command') {
      // A whole command is ready to go: Enter sends it.
      if (tools.value.some((tool) => tool.name === asked.query)) return []
      return bestMatches(tools.value, asked.query, (tool) => `${tool.name} ${toolName(tool.name)}`, MOST).map((tool) => ({ id: tool.name, label: `/${tool.name}`, detail: about(tool), folder: false, insert: `/${tool.name} ` }))
    }
    return bestMatches(known.value, asked.query, (file) => `${file.name} ${file.path}`, MOST).map((file) => ({
      id: file.path, label: file.path, detail: '', folder: file.type === 'dir', insert: file.type === 'dir' ? `@${file.path}/` : `@${file.path} `,
    }))
  })
  /** Files are asked for where there are none. */
  const needsProject = computed(() => trigger.value?.kind === 'file' && !projectId.value && !dismissed.value && !trigger.value.query)
  const open = computed(() => items.value.length > 0)
  watch(trigger, (now, before) => {
    if (now?.start !== before?.start || now?.query !== before?.query) active.value = 0
    if (!now || now.start !== before?.start) dismissed.value = false
  })

  const look = () => (cursor.value = field.value?.selectionStart ?? 0)
  function choose(item: Suggestion): void {
    const result = replaceTrigger(text.value, cursor.value, trigger.value!, item.insert)
    if (trigger.value?.kind === 'file' && !item.folder) onFile(item.id)
    text.value = result.text
    requestAnimationFrame(() => {
      field.value?.focus()
      field.value?.setSelectionRange(result.cursor, result.cursor)
      look()
    })
  }
  /** True when the key belonged to the menu. */
  function onKey(event: KeyboardEvent): boolean {
    if (!open.value || event.isComposing) return false
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
    if (event.key in moves) active.value = (active.value + moves[event.key]! + items.value.length) % items.value.length
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(items.value[active.value]!)
    else if (event.key === 'Escape') dismissed.value = true
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return { items, active, open, needsProject, choose, onKey, look }
}
