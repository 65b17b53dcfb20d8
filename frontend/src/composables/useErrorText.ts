import { useI18n } from 'vue-i18n'
import { asApiError } from '@/api/problem'

/** Codes that say only of which kind an error is: the server's own sentence adds what is wrong. */
const WIDE: ReadonlySet<string> = new Set([
  'bad_request', 'validation_failed', 'invalid_arguments', 'conflict', 'file_conflict', 'file_error', 'tool_failed', 'tool_unavailable', 'model_error', 'model_bad_request', 'too_large', 'forbidden', 'unavailable',
])

/** Errors by their code: one sentence with the cause and what to do. */
export function useErrorWords() {
  const { t, te } = useI18n()
  /** '' for a code that is not known here. */
  const sentence = (code: string | undefined): string => (code && te(`errors.${code}`) ? t(`errors.${code}`) : '')
  /** The sentence of the code; else the server's own; else the bare code. */
  const told = (code: string, detail = ''): string => sentence(code) || detail || t('errors.generic', { code })
  return { sentence, told, wide: (code: string) => WIDE.has(code) }
}

/** Words an error for people in one line, as in a toast: by its code, with the server's sentence where the code alone says too little. */
export function useErrorText() {
  const { t } = useI18n()
  const { sentence, told } = useErrorWords()
  return (error: unknown): string => {
    const problem = asApiError(error)
    const known = sentence(problem.code)
    const adds = WIDE.has(problem.code) && problem.detail && problem.detail !== known
    return known && adds ? t('errors.withDetail', { sentence: known, detail: problem.detail }) : told(problem.code, problem.detail)
  }
}
