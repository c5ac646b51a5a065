import { describe, type TestContext, test } from 'node:test'
import { shownAddress } from '../support/clients/document.ts'
import { type Followed, followDocument } from '../support/clients/followed.ts'
import { startDemoService } from '../support/data/demo.ts'
import { withSingleSignOn } from '../support/providers/openid-flow.ts'
import { engines } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'

const password = 'three quiet rivers'
const logIn = (email: string) => `
printf '%s' '${password}' | carrel eperson password ${email} --password-stdin
curl -s -c carrel.cookies ${shownAddress}/api/security/csrf
CSRF=$(awk '/XSRF/ {print $7}' carrel.cookies)
TOKEN=$(carrel token ${email})
AUTH=(-b carrel.cookies -H "X-XSRF-TOKEN: $CSRF" -H "Authorization: Bearer $TOKEN")
`

const documents: readonly Followed[] = [
  {
    path: 'docs/reference/http.md',
    steps: [
      {
        at: 'authn/login',
        before: `printf '%s' '${password}' | carrel eperson password reader@example.org --password-stdin`,
        instead: [["password='…'", `password='${password}'`]],
      },
      {
        at: 'BITSTREAM=…',
        instead: [
          [
            'BITSTREAM=…',
            `BITSTREAM=$(curl -s "\${AUTH[@]}" "$API/query/v4/bitstreams?limit=1" | sed 's/.*"uuid":"\\([^"]*\\)".*/\\1/')`,
          ],
        ],
      },
      { at: 'curl -b jar -C -', before: 'head -c 9 letter.txt > part && mv part letter.txt' },
      {
        at: '$TOKEN" $API/authn/sessions',
        instead: [['$API/authn/sessions', '$API/authn/sessions | tee sessions']],
      },
      { at: 'scripts/verify', before: logIn('admin@example.org') },
      {
        at: 'SESSION=…',
        before: 'carrel token admin@example.org > other',
        instead: [
          [
            'SESSION=…',
            `SESSION=$(curl -s "\${AUTH[@]}" $API/authn/sessions | grep -oE '"id":"[0-9]+","current":false' | head -1 | grep -oE '[0-9]+')`,
          ],
        ],
      },
      {
        at: '"lastNetwork"',
        by: `for name in $(grep -oE '"[A-Za-z]+":' $BLOCK); do grep -q "$name" sessions; done`,
      },
      {
        at: '"current_password": "…"',
        by: `mkdir curator; cd curator; (${logIn('curator@example.org')}
NEW=$(sed "0,/…/s//four quiet rivers/; s/…/${password}/" $BLOCK)
ME=$(curl -s "\${AUTH[@]}" $API/authn/status | grep -oE 'epersons/[-0-9a-f]{36}' | head -1)
curl -s -X PATCH "\${AUTH[@]}" -H 'Content-Type: application/json' -d "$NEW" $API/eperson/$ME); cd ..`,
      },
    ],
    least: 10,
  },
  {
    path: 'docs/how-to/administer-over-http.md',
    steps: [
      { at: 'JSON=(', before: logIn('admin@example.org') },
      // The previous recipe ended all sessions.
      { at: 'ACCESS_TOKEN=$(', before: logIn('admin@example.org') },
    ],
    least: 10,
  },
  {
    path: 'docs/how-to/write-records.md',
    steps: [
      {
        at: 'carrel group add Curators',
        before: `
printf '%s' '${password}' | carrel eperson add ruth@example.org --password-stdin
for n in 1 2 3; do echo "{\\"acno\\":\\"A$n\\",\\"title\\":\\"Dawn $n\\",\\"year\\":190$n,\\"tags\\":[]}"; done > artworks
carrel import artworks --entity artworks --key acno --read anonymous`,
        // The demo already has this group.
        instead: [['carrel group add Curators', ':']],
      },
    ],
    least: 3,
  },
  {
    path: 'docs/how-to/follow-changes.md',
    steps: [
      {
        at: 'The answer names the state',
        before: `
printf '%s' '${password}' | carrel eperson add ruth@example.org --password-stdin
for n in 1 2 3; do echo "{\\"acno\\":\\"A$n\\",\\"title\\":\\"Dawn $n\\",\\"year\\":190$n}"; done > artworks
carrel import artworks --entity artworks --key acno --read anonymous
carrel entity writers artworks eperson`,
      },
    ],
    least: 2,
  },
]

async function startDemo(t: TestContext, engine: (typeof engines)[number]) {
  const settings = {
    ...{ id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' },
    email: { match: true },
  }
  const service = await startDemoService(t, {
    engine,
    env: { CARREL_BASE_URL: shownAddress, ...withSingleSignOn(t, { providers: [settings] }) },
  })
  return { service, folder: temporaryFolder(t, engine) }
}

for (const engine of engines)
  describe(`documents on ${engine}`, () => {
    for (const document of documents)
      test(`D1 L1 F1 OP8 every command of ${document.path} works, one after the other`, async t => {
        const { service, folder } = await startDemo(t, engine)
        await followDocument(service, document, folder)
      })
  })
