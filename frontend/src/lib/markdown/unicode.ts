/** Punctuation and symbols, by the browser's own tables instead of copies of them (stands in for uc.micro). */
export const P = /\p{P}/u
export const S = /\p{S}/u
export const Z = /\p{Z}/u
export const Cc = /\p{Cc}/u
export const Cf = /\p{Cf}/u
export const Any = /[\s\S]/u
