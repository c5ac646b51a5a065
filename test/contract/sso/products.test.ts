import assert from 'node:assert/strict'
import { identity } from '../../support/providers/certificates.ts'
import {
  assertRefused as assertRefusedProxy,
  logIn,
  names,
  ruth,
  send as sendProxy,
  startTrusting,
  trusted,
} from '../../support/providers/proxy-flow.ts'
import {
  about,
  assertAccepted,
  assertRefused,
  base64,
  begin,
  type PendingLogin,
  send,
} from '../../support/providers/saml-attempt.ts'
import { serviceIdentity, startWithProvider } from '../../support/providers/saml-flow.ts'
import { encrypted, keyValueOf, responseXml, signed } from '../../support/providers/saml-forge.ts'
import { test } from '../../support/service/engines.ts'

test('X2 a response as LemonLDAP::NG makes it: signed as a whole with a bare key beside it, encrypted in CBC mode', async t => {
  const { service, provider } = await startWithProvider(t)
  const { certificate } = serviceIdentity
  const made = async (one: PendingLogin, signer: typeof serviceIdentity, shown = signer) => {
    const xml = await encrypted(responseXml(about(one)), { certificate, content: 'aes128-cbc' })
    return base64(signed(xml, { element: 'Response', identity: signer, keyInfo: keyValueOf(shown) }))
  }
  const stranger = identity('stranger')
  for (const shown of [stranger, provider.identity]) {
    const one = await begin(service, provider)
    await assertRefused(one, await send(one, await made(one, stranger, shown)))
  }
  const one = await begin(service, provider)
  await assertAccepted(one, await send(one, await made(one, provider.identity)))
})

test('X3 headers as mod_auth_openidc makes them: true is 1, false is 0, several values are one text', async t => {
  const [verified, groups] = ['X-Mail-Verified', 'X-Groups']
  const service = await startTrusting(t, {
    provider: {
      attributes: { ...names, emailVerified: verified },
      email: { verified: 'claim' },
      groups: [{ group: 'Staff', attribute: groups, value: 'staff' }],
    },
  })
  const unverified = await sendProxy(service, trusted({ ...ruth, [verified]: '0', [groups]: 'staff' }))
  await assertRefusedProxy(service, unverified, 403, 'account-refused')
  const client = await logIn(service, { ...ruth, [verified]: '1', [groups]: 'member;staff' })
  assert.deepEqual(await client.specialGroups(), ['Staff'])
})
