import type { Component } from 'vue'
import {
  IconAgents, IconCalculator, IconFileDelete, IconFileEdit, IconFileText, IconFolderPlus, IconGlobe, IconJson, IconSearch, IconTerminal, IconText, IconTools, IconTree, IconWeather,
} from '@/ui/icons'

const ICONS: Record<string, Component> = {
  web_search: IconSearch, fetch_page: IconGlobe, crawl_batch: IconGlobe, calculator: IconCalculator, text_process: IconText, json_process: IconJson, execute_python: IconTerminal, file_read: IconFileText,
  file_write: IconFileEdit, file_edit: IconFileEdit, file_delete: IconFileDelete, file_list: IconTree, file_exists: IconFileText, file_mkdir: IconFolderPlus, file_search: IconSearch, file_move: IconFileEdit,
  get_weather: IconWeather, multi_agent: IconAgents,
}
export const iconOf = (tool: string): Component => ICONS[tool] ?? IconTools
