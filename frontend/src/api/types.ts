/** The server's words, as the outer contract writes them. */

export interface Page<Item> {
  items: Item[]
  next_cursor: string | null
  prev_cursor?: string | null
}

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cost_micros?: number
  currency?: string
}

export interface Me {
  user: { id: string; name: string; role: 'admin' | 'user' }
  settings: Record<string, unknown>
  csrf_token: string
}

export interface Limits {
  max_steps: number
  step_timeout_seconds: number
  run_timeout_seconds: number
  max_retries_per_tool: number
  max_consecutive_errors: number
}

export interface Project {
  id: string
  name: string
  description: string | null
  instructions: string | null
  path?: string | null
  default_model?: string | null
  allowed_tools?: string[] | null
  limits?: Partial<Limits> | null
  pinned?: boolean
  archived?: boolean
  created_at: string
  updated_at?: string
  deleted_at?: string | null
}

export interface Conversation {
  id: string
  title: string
  project_id: string | null
  model: string | null
  system_prompt?: string | null
  temperature?: number | null
  max_tokens?: number | null
  thinking?: boolean | null
  /** Tools that are switched off here. */
  tools_off?: string[]
  active_leaf_id: string | null
  active_run_id?: string | null
  pinned?: boolean
  archived?: boolean
  tags?: string[]
  /** In no list and no search; gone for good a day after its last message. */
  temporary?: boolean
  forked_from?: { conversation_id: string; message_id: string } | null
  /** The beginning of the newest message, in lists. */
  preview?: string | null
  created_at: string
  updated_at: string
  deleted_at?: string | null
}

export interface TagCount {
  tag: string
  count: number
}

/** What came of a file of conversations: those that were made, and those that could not be. */
export interface ImportReport {
  items: Conversation[]
  skipped: { index: number; title: string; code: string; detail: string }[]
}

export type CallStatus =
  | 'pending' | 'executing' | 'waiting_approval' | 'success' | 'error' | 'timeout' | 'permission_denied' | 'cancelled' | 'unknown'

/** One tool call; `arguments` and `result` are JSON texts. */
export interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  result: string | null
  success: boolean | null
  skipped: boolean
  execution_time: number | null
  status: CallStatus
  cached: boolean
  duplicate_of: string | null
  cached_at: string | null
  expires_at: string | null
  attempts: number
  degraded: string | null
  summary: string | null
  queued_ms: number
  result_truncated: boolean
  result_size: number
  provider_id: string
  step: number
  started_at: string | null
  finished_at: string | null
}

/** `seconds`: how long the model thought, where that was long enough to tell. */
export type Block = { type: 'reasoning' | 'text'; text: string; seconds?: number } | { type: 'tool_call'; call_id: string }

/** A file of the project that belongs to a message; a request names it by its path alone. */
export interface Attachment {
  type: string
  path: string
  name: string
  size: number
  media_type: string
}

export interface RunError {
  code?: string
  message?: string
  detail?: string
  retryable?: boolean
  suggestion?: string
}

export interface Message {
  id: string
  conversation_id: string
  parent_id: string | null
  siblings: string[]
  position: number
  role: 'user' | 'assistant'
  state: 'queued' | 'sent' | 'withdrawn' | 'deleted'
  content: string
  reasoning: string
  blocks: Block[]
  tool_calls: Call[]
  attachments: Attachment[]
  model: string
  usage: Usage | null
  error: RunError | null
  run_id: string | null
  created_at: string
}

/** A page of the path to a leaf: oldest first; `next_cursor` leads to older, `prev_cursor` to newer messages. */
export interface MessagePage extends Page<Message> {
  leaf_id: string | null
  queued: Message[]
}

export type RunStatus = 'queued' | 'running' | 'waiting_approval' | 'completed' | 'cancelled' | 'max_steps' | 'timeout' | 'failed'

export interface Run {
  id: string
  /** The beginning of the input. */
  title?: string
  kind: 'chat' | 'task' | 'workflow' | 'child' | 'manual' | 'copy'
  status: RunStatus
  stop_reason: string | null
  project_id: string | null
  conversation_id: string | null
  parent_run_id: string | null
  parent_call_id: string | null
  model: string
  input: string
  output: string | null
  error: RunError | null
  usage: Usage
  limits: Limits
  step_count: number
  /** In lists: how many tool calls it made, and how many of them failed. */
  call_count?: number
  failure_count?: number
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export interface Step {
  index: number
  status: 'running' | 'completed' | 'failed'
  reasoning: string
  text: string
  finish_reason: string | null
  model: string
  model_calls: number
  usage: Usage
  tool_calls: Call[]
  started_at: string
  finished_at: string | null
}

/** One thing that a cancel found: a call, a helper's run, or the model's answer. */
export interface ReceiptItem {
  type: 'tool_call' | 'run' | 'model'
  id: string
  name?: string
  status?: string
}
export interface CancelReceipt {
  stopped: ReceiptItem[]
  finished: ReceiptItem[]
  abandoned: ReceiptItem[]
  usage: Usage
}

/** What a run did to one path, from before it to after it; no `diff` for contents that are no text. */
export interface RunDiff {
  path: string
  new_path: string | null
  action: string
  diff: string | null
  change_ids: string[]
  call_ids: string[]
  reverted: boolean
}
export interface Undone {
  undone: { path: string; how: 'restored' | 'merged' | 'removed' | 'created' | 'moved back'; change_ids: string[] }[]
  conflicts: { path: string; code: string; reason: string; change_ids: string[] }[]
}

export interface FileEntry {
  name: string
  path: string
  type: 'file' | 'dir'
  size: number
  modified_at: string
}

export interface FileChange {
  id: string
  path: string
  new_path: string | null
  action: 'write' | 'append' | 'delete' | 'move' | 'mkdir'
  before_hash: string | null
  after_hash: string | null
  before_size: number | null
  after_size: number | null
  run_id: string | null
  user_id: string | null
  reverted_at?: string | null
  /** In the list of deleted files: the folder that it was deleted with. */
  folder?: string | null
  created_at: string
}

export interface FileMatches {
  items: { path: string; line: number; column?: number; text: string }[]
  files?: number
  /** Why there may be more; null when everything was looked at. */
  incomplete: string | null
}

export interface JsonSchema {
  type?: string | string[]
  description?: string
  title?: string
  enum?: unknown[]
  default?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
  additionalProperties?: boolean | JsonSchema
}

export interface Tool {
  name: string
  description: string
  category: string
  parameters: JsonSchema
  enabled: boolean
  policy: 'allow' | 'ask' | 'deny'
  read_only: boolean
  concurrency_safe: boolean
  cacheable: boolean
  /** How long a result is reused; null for tools whose results are not. */
  cache_seconds?: number | null
  timeout: number
  needs_project?: boolean
  egress?: boolean
  risk?: string
  error: string | null
  /** What it works worse without. */
  lacks?: 'no_key' | 'no_model' | null
  stats: ToolStats | null
}

/** The caller's own calls of the last 30 days. */
export interface ToolStats {
  calls: number
  errors: number
  cached: number
  average_seconds: number | null
  last_used_at: string | null
  /** Those of the last 24 hours; times are of calls whose result was not reused. */
  day?: { calls: number; errors: number; cached: number; p50_seconds: number | null; p95_seconds: number | null }
}

/** The tools, and the files of tools that could not be loaded. */
export interface ToolPage extends Page<Tool> {
  file_errors?: FileError[]
}
export interface FileError {
  file?: string
  error?: string
  [more: string]: unknown
}

export interface ModelInfo {
  id: string
  name?: string
  provider?: string
  provider_id?: string
  context_window?: number
  images?: boolean
  default?: boolean
}

export interface SearchHit {
  type: 'message' | 'conversation' | 'project' | 'file'
  id: string
  conversation_id: string | null
  project_id: string | null
  title?: string
  snippet: string
  created_at?: string
}

export const ACTIVE_STATUSES: readonly RunStatus[] = ['queued', 'running', 'waiting_approval']
export const isActive = (status: RunStatus): boolean => ACTIVE_STATUSES.includes(status)
