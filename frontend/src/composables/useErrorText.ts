import { useI18n } from 'vue-i18n'
import { asApiError } from '@/api/problem'

/** Words an error for people: by its code where we know it, else with the server's own sentence. */
export function useErrorText() {
  const { t, te } = useI18n()
  return (error: unknown): string => {
    const problem = asApiError(error)
    const generic = problem.code === 'internal_error' || !problem.detail || problem.offline
    if (generic && te(`errors.${problem.code}`)) return t(`errors.${problem.code}`)
    if (problem.detail) return problem.detail
    return te(`errors.${problem.code}`) ? t(`errors.${problem.code}`) : t('errors.generic', { code: problem.code })
  }
}
