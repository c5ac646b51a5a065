import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shownAddress } from '../support/clients/document.ts'
import { followDocument } from '../support/clients/followed.ts'
import { recordAnswers } from '../support/contracts/record-answers.ts'
import { startDemoService } from '../support/data/demo.ts'
import { zipOf } from '../support/data/packed.ts'
import { withSingleSignOn } from '../support/providers/openid-flow.ts'
import { startSmtpCatcher } from '../support/providers/smtp-catcher.ts'
import { test } from '../support/service/engines.ts'
import { repository } from '../support/service/process.ts'
import { routesOf } from '../support/service/routes.ts'
import { temporaryFolder } from '../support/service/service.ts'

const path = 'docs/reference/http-examples.md'

/** Requests to any service of this process, as `METHOD route`. */
const asked = new Set<string>()
recordAnswers(() => ({ method, route, status }) => {
  // The list of routes has no slash before its wildcards.
  if (status < 400 && route !== undefined) asked.add(`${method} ${route.replace('/*', '*')}`)
})

/** Addresses requested elsewhere: in a document whose blocks run, or in a test. */
const elsewhere: readonly (readonly [RegExp, by: string])[] = [
  [/^\/console/, 'test/console/served.test.ts'],
  [/findByToken$/, 'docs/how-to/mail.md'],
  [
    /\/(fact[-_]names|facts|resources|event[-_]counts|aggregate[-_]event[-_]counts)\b/,
    'docs/how-to/puppetdb-clients.md',
  ],
  [/^\/(api\/meta|status|metrics\/v2)\b/, 'test/contract/query/ask-addresses.test.ts'],
  [/^\/api\/authn\/(oidc|sso)\b/, 'docs/sso.md'],
  // This route always refuses.
  [/^\/api\/authz\/resourcepolicies\/:id\/eperson$/, 'test/contract/items/policies.test.ts'],
  // These need the codes of an app.
  [/\/factors\b/, 'test/contract/login/second-factor.test.ts'],
  // The processes have ended here.
  [/\/processes\/:id\/(cancel|resume)$/, 'test/contract/items/processes.test.ts'],
]

test('D1 OD1 docs/reference/http-examples.md has a call of every address, and each works', async t => {
  const mails = await startSmtpCatcher(t)
  const company = { id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }
  const service = await startDemoService(t, {
    env: {
      CARREL_BASE_URL: shownAddress,
      CARREL_BACKUPS: temporaryFolder(t, 'sqlite'),
      CARREL_SMTP_URL: mails.url,
      CARREL_MAIL_FROM: 'archive@example.edu',
      CARREL_UI_URL: 'https://ui.example.edu',
      ...withSingleSignOn(t, { providers: [{ ...company, email: { match: true } }] }),
    },
  })
  const folder = temporaryFolder(t)
  writeFileSync(
    join(folder, 'letters.zip'),
    zipOf([
      { name: 'manifest.csv', content: 'identifier,dc.title,files\nzipped-1,A letter,one.txt\n' },
      { name: 'one.txt', content: 'Dear Ruth' },
    ]),
  )
  const before = `
printf '%s' 'three quiet rivers' | carrel eperson password admin@example.org --password-stdin
curl -s -c carrel.cookies ${shownAddress}/api/security/csrf
CSRF=$(awk '/XSRF/ {print $7}' carrel.cookies)
TOKEN=$(carrel token admin@example.org)
`
  const steps = [{ at: 'BASE=http', before }]
  for (const [, by] of elsewhere) assert.ok(existsSync(join(repository, by)), by)
  await followDocument(service, { path, steps, least: 16 }, folder)

  // The lists that are always empty have a few examples, and routes that Carrel lacks are 404.
  const lines = readFileSync(join(repository, 'docs/reference/http.md'), 'utf8').split('\n')
  const lists =
    lines.find(line => line.endsWith('| Empty pages. |') && line.includes('/api/discover/browses`')) ?? ''
  const absent = lines.filter(line => line.endsWith('| 404 that says so. |')).join()
  const missing = routesOf(service)
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .filter(({ method, url }) => !asked.has(`${method} ${url}`))
    .filter(({ url }) => !elsewhere.some(([pattern]) => pattern.test(url)))
    .filter(
      ({ method, url }) => !(lists + absent).includes(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}\``),
    )
  assert.deepEqual(missing, [])
  assert.ok(asked.size > 180, String(asked.size))
})
