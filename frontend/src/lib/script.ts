const SAMPLE_CHARS = 400
const LEAST_SHARE = 0.15
const SCRIPTS = { han: /\p{Script=Han}/gu, kana: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu, hangul: /\p{Script=Hangul}/gu, latin: /\p{Script=Latin}/gu }

/** The language tag of a text, by the share of its scripts; screen readers and fonts follow it. Other scripts are many languages. */
export function scriptOf(text: string): 'zh' | 'ja' | 'ko' | 'en' | undefined {
  const sample = text.slice(0, SAMPLE_CHARS)
  if (!sample.trim()) return undefined
  const share = (script: RegExp) => (sample.match(script)?.length ?? 0) / sample.length
  const kana = share(SCRIPTS.kana)
  if (kana > 0 && kana + share(SCRIPTS.han) > LEAST_SHARE) return 'ja'
  if (share(SCRIPTS.hangul) > LEAST_SHARE) return 'ko'
  if (share(SCRIPTS.han) > LEAST_SHARE) return 'zh'
  return share(SCRIPTS.latin) > LEAST_SHARE ? 'en' : undefined
}
