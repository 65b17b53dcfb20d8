/** Chinese: one JSON file per domain; the file's name is the first part of its keys. */
const files = import.meta.glob<Record<string, unknown>>('./*.json', { eager: true, import: 'default' })

export default Object.fromEntries(Object.entries(files).map(([path, messages]) => [path.slice(2, -5), messages]))
