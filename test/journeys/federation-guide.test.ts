import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { shownAddress } from '../support/clients/document.ts'
import { followDocument } from '../support/clients/followed.ts'
import { identity } from '../support/providers/certificates.ts'
import { entityCategory, memberXml } from '../support/providers/federation.ts'
import { signedAggregate, startMetadataServer } from '../support/providers/federation-flow.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const supports = [`${entityCategory}-support`, 'http://refeds.org/category/research-and-scholarship'] as const
const ours = 'https://federation.example.org'

/** Returns a university as the federation describes it. @param domain such as `lu` */
const university = (domain: string, registrationAuthority = ours) =>
  memberXml({
    entityId: `https://idp.${domain}.example/idp`,
    scopes: [`${domain}.example`],
    registrationAuthority,
    entityAttributes: [supports],
  })

test('X11 X12 every command of docs/how-to/federations.md works and shows what the guide shows', async t => {
  const folder = temporaryFolder(t)
  // The end of validity that the guide shows.
  const notAfter = new Date('2036-11-20T00:00:00Z')
  const server = await startMetadataServer(t)
  const members = [
    ...['lu', 'utu', 'uu'].map(domain => university(domain)),
    university('eth', 'https://elsewhere.example.org'),
    memberXml({ entityId: 'https://idp.plain.example/idp', registrationAuthority: ours }),
  ]
  server.files.set('/all.xml', { body: signedAggregate(members, { validUntil: notAfter }) })
  const own = identity('repo.example.edu', { notAfter })
  writeFileSync(join(folder, 'sp.key'), own.privateKey, { mode: 0o600 })
  writeFileSync(join(folder, 'sp.crt'), own.certificate)
  // A certificate for the key that has signed the metadata.
  writeFileSync(join(folder, 'federation.pem'), identity('federation', { notAfter }).certificate)
  const service = await startService(t, { env: { CARREL_BASE_URL: shownAddress } })
  await followDocument(
    service,
    {
      path: 'docs/how-to/federations.md',
      steps: [
        {
          at: '"singleSignOn"',
          by: `
sed "s,https://metadata.example.org,${server.address}," $BLOCK > carrel.json
export CARREL_CONFIG=carrel.json
export CARREL_BASE_URL=https://repo.example.edu/server CARREL_ALLOWED_ORIGINS=https://ui.example.edu`,
        },
        { at: 'ruth@student.lu.example",', by: 'cp $BLOCK ruth.json' },
      ],
      least: 5,
    },
    folder,
  )
})
