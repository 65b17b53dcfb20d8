let counter = 100
export const newId = (prefix: string): string => `${prefix}_${(counter += 1)}`
export const now = (): string => new Date().toISOString()
