import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.ts'
import { openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'

/**
 * `docs/reference/openapi.json`: the document of a service with default addresses, where mail and single sign-on are
 * configured and there are no entities but those that are always there.
 */
export async function openApi(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-docs-'))
  const file = join(folder, 'carrel.json')
  writeFileSync(file, JSON.stringify({ singleSignOn: { providers } }))
  const config = toConfig({
    CARREL_DATA: folder,
    CARREL_BASE_URL: 'https://repo.example.org/server',
    CARREL_BACKUPS: join(folder, 'backups'),
    CARREL_CONFIG: file,
    CARREL_LOG_LEVEL: 'silent',
    CARREL_MAIL_FROM: 'carrel@example.org',
    CARREL_SMTP_URL: 'smtp://localhost',
    CARREL_UI_URL: 'https://repo.example.org',
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
