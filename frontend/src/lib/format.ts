/** Numbers, sizes and times in the page's language. */
export const formatNumber = (value: number, locale: string): string => new Intl.NumberFormat(locale).format(value)

export function formatSize(bytes: number, locale: string): string {
  // "21 byte" is how the short form reads; its narrow one is "21B". Plain "21 B" it is.
  if (bytes < 1000) return `${formatNumber(bytes, locale)} B`
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
  let size = bytes
  let unit = 0
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit += 1
  }
  return new Intl.NumberFormat(locale, { style: 'unit', unit: units[unit], unitDisplay: 'short', maximumFractionDigits: size < 10 && unit > 0 ? 1 : 0 }).format(size)
}

/** 20ms, 0.4s, 12s, 3m 20s: as long as a person cares to read. */
export function formatSeconds(seconds: number, locale: string): string {
  const unit = (value: number, name: string, digits = 0) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'narrow', maximumFractionDigits: digits }).format(value)
  if (seconds > 0 && seconds < 0.1) return unit(Math.max(1, Math.round(seconds * 1000)), 'millisecond')
  if (seconds < 10) return unit(seconds, 'second', 1)
  if (seconds < 60) return unit(Math.round(seconds), 'second')
  const minutes = Math.floor(seconds / 60)
  const rest = Math.round(seconds % 60)
  return `${unit(minutes, 'minute')}${rest ? ` ${unit(rest, 'second')}` : ''}`
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3_600], ['minute', 60]]

export function formatAgo(iso: string, locale: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  for (const [unit, length] of STEPS) if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit)
  // 现在 before a verb is an order: 现在删除 is "delete now".
  return locale.startsWith('zh') ? '刚刚' : format.format(0, 'second')
}

export const formatDay = (iso: string, locale: string): string => new Intl.DateTimeFormat(locale, { weekday: 'short', month: 'short', day: 'numeric', year: new Date(iso).getFullYear() === new Date().getFullYear() ? undefined : 'numeric' }).format(new Date(iso))
export const formatDateTime = (iso: string, locale: string): string => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso))
/** Money as the server counts it, in millionths; small sums keep enough digits to be told from nothing. */
export const formatMoney = (micros: number, currency: string, locale: string): string =>
  new Intl.NumberFormat(locale, { style: 'currency', currency: currency || 'USD', maximumFractionDigits: Math.abs(micros) < 1_000_000 ? 4 : 2 }).format(micros / 1_000_000)
