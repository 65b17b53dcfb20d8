const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** A hand-run of a tool as a command; the token is the reader's own. */
export function curlOf(tool: string, args: Record<string, unknown>, projectId?: string, origin = location.origin): string {
  const body = JSON.stringify({ arguments: args, ...(projectId ? { project_id: projectId } : {}) })
  return [`curl -X POST ${quoted(`${origin}/api/tools/${tool}/execute`)}`, `-H "Authorization: Bearer $NANOCLAW_TOKEN"`, `-H 'Content-Type: application/json'`, `-d ${quoted(body)}`].join(' \\\n  ')
}
