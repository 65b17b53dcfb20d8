import type { Handlers } from '..'
import { adminHandlers } from './admin'
import { aftermathHandlers } from './aftermath'
import { authHandlers } from './auth'
import { changeHandlers } from './changes'
import { conversationHandlers } from './conversations'
import { fileHandlers } from './files'
import { organiseHandlers } from './organise'
import { projectHandlers } from './projects'
import { runHandlers } from './runs'
import { toolHandlers } from './tools'

/** Add a domain: write handlers/<domain>.ts and spread it here. */
export const handlers: Handlers = {
  ...authHandlers,
  // Its /tags comes before /:id.
  ...organiseHandlers,
  ...projectHandlers,
  ...conversationHandlers,
  ...runHandlers,
  ...aftermathHandlers,
  ...fileHandlers,
  ...toolHandlers,
  ...changeHandlers,
  ...adminHandlers,
}
