const HAN = /\p{Script=Han}/gu
const SAMPLE_CHARS = 400
const CHINESE_SHARE = 0.15

/** The language tag of a text, by the share of its script; screen readers and fonts follow it. */
export function scriptOf(text: string): 'zh' | 'en' | undefined {
  const sample = text.slice(0, SAMPLE_CHARS)
  if (!sample.trim()) return undefined
  return (sample.match(HAN)?.length ?? 0) / sample.length > CHINESE_SHARE ? 'zh' : 'en'
}
