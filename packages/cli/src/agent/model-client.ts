import Anthropic from '@anthropic-ai/sdk'
import { LociError } from '@loci/disk'
import { createMessagesApi } from '../messages-api/messages-api.ts'
import { OFFLINE_MODEL_NAME, answerOffline } from '../offline-model/offline-model.ts'

const DEFAULT_MODEL = 'claude-sonnet-5-5'

/** Which model answers, and by what way. */
export interface ModelClient {
  client: Anthropic
  model: string
  /** The embedded rule-based model answers; nothing leaves this process. */
  isOffline: boolean
}

/**
 * The model of the environment: with ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN that of ANTHROPIC_BASE_URL (default:
 * Anthropic's), else the embedded offline model. Both go through the same client of the SDK.
 */
export function openModelClient(options: {
  env: Readonly<Record<string, string | undefined>>
  model: string | undefined
  offline: boolean
}): ModelClient {
  const { env, offline } = options
  const apiKey = env['ANTHROPIC_API_KEY'] || null
  const authToken = env['ANTHROPIC_AUTH_TOKEN'] || null
  // What goes wrong is reported, and tried again, by who asks.
  const quiet = { maxRetries: 0, logLevel: 'off' } as const
  if (offline || (apiKey === null && authToken === null)) {
    const { fetch } = createMessagesApi({ answer: answerOffline })
    const client = new Anthropic({
      apiKey: 'offline',
      authToken: null,
      baseURL: 'http://offline.invalid',
      fetch,
      ...quiet,
    })
    return { client, model: OFFLINE_MODEL_NAME, isOffline: true }
  }
  const baseURL = env['ANTHROPIC_BASE_URL'] || 'https://api.anthropic.com'
  checkServer(baseURL)
  const client = new Anthropic({ apiKey, authToken, baseURL, ...quiet })
  return { client, model: options.model ?? (env['ANTHROPIC_MODEL'] || DEFAULT_MODEL), isOffline: false }
}

function checkServer(baseURL: string): void {
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new LociError(
      'CONFIG_INVALID',
      `ANTHROPIC_BASE_URL is no URL of a server: ${JSON.stringify(baseURL)}`,
    )
  // Not repeated here: it would stand in logs.
  if (url.username !== '' || url.password !== '')
    throw new LociError(
      'CONFIG_INVALID',
      'ANTHROPIC_BASE_URL holds a password; give ANTHROPIC_AUTH_TOKEN instead',
    )
}
