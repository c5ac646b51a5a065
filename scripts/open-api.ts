import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.ts'
import { openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'

let made: Promise<string> | undefined

/**
 * Returns the OpenAPI document of a service with default addresses, with mail and single sign-on configured,
 * and with no entities but the built-in ones. The build writes it to `dist/openapi.json`.
 */
export function openApi(): Promise<string> {
  made ??= make(folder => {
    const file = join(folder, 'carrel.json')
    writeFileSync(file, JSON.stringify({ singleSignOn: { providers } }))
    return {
      CARREL_BACKUPS: join(folder, 'backups'),
      CARREL_CONFIG: file,
      CARREL_MAIL_FROM: 'carrel@example.org',
      CARREL_SMTP_URL: 'smtp://localhost',
      CARREL_UI_URL: 'https://repo.example.org',
    }
  })
  return made
}

/** Returns the document of a service on which nothing is configured. */
export const bareOpenApi = (): Promise<string> => make(() => ({}))

async function make(settings: (folder: string) => Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-docs-'))
  const config = toConfig({
    CARREL_DATA: folder,
    CARREL_BASE_URL: 'https://repo.example.org/server',
    CARREL_LOG_LEVEL: 'silent',
    ...settings(folder),
  })
  const storage = await openStore(config, { create: true })
  try {
    const app = await buildApp(config, storage)
    const { body } = await app.inject({ url: '/api/openapi.json', headers: { host: 'localhost' } })
    await app.close()
    return `${JSON.stringify(JSON.parse(body), null, 1)}\n`
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const providers = [
  { id: 'university', kind: 'saml', metadata: 'metadata.xml' },
  { id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' },
]

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

interface Operation {
  readonly operationId: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
}

/**
 * Generates `docs/reference/openapi-digest.txt`: one line for each operation, with a digest of its
 * description, including all components that it refers to. A change of the contract shows as one line for
 * each affected route.
 */
export async function openApiDigest(): Promise<string> {
  const { paths, components } = JSON.parse(await openApi()) as Document
  const lines = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) =>
        `${path} ${method.toUpperCase()} ${operation.operationId} ${digestOf(operation, components)}`,
    ),
  )
  return `${lines.toSorted().join('\n')}\n`
}

function digestOf(operation: Operation, components: Document['components']): string {
  const schemes = operation.security.flatMap(one => Object.keys(one)).map(name => `securitySchemes/${name}`)
  const parts = new Map<string, string>()
  const waiting = [...schemes, ...referencesIn(JSON.stringify(operation))]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (parts.has(name)) continue
    const [kind = '', part = ''] = name.split('/')
    const text = JSON.stringify(components[kind]?.[part])
    parts.set(name, text)
    waiting.push(...referencesIn(text))
  }
  const hash = createHash('sha256').update(JSON.stringify(operation))
  for (const part of [...parts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(JSON.stringify(part))
  return hash.digest('base64url').slice(0, 12)
}

/** Returns the names of the components that a text refers to, such as `schemas/Item`. */
const referencesIn = (text: string): readonly string[] =>
  [...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, name = '']) => name)
