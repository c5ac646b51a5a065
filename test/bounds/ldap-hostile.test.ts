import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { forgetAttempts, rowsOf } from '../support/data/attempts.ts'
import { integer, octets, sequence, value } from '../support/providers/ber.ts'
import {
  type Conversation,
  entryMessage,
  result,
  startDirectory,
  type Twist,
  tags,
} from '../support/providers/ldap-directory.ts'
import {
  entries,
  loginsTo,
  person,
  ruth,
  startCampus,
  withDirectory,
} from '../support/providers/ldap-flow.ts'
import { repeats } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test } from '../support/service/engines.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const [failed, unavailable] = ['401 login-failed', '503 directory-unavailable']

/** Replaces the answer to the search for a person. */
const onSearch =
  (answer: (conversation: Conversation) => void): Twist =>
  ({ kind }, conversation) => {
    if (kind === 'search') answer(conversation)
    return kind === 'search'
  }
/** Replaces the answer to the person's password. */
const onBind =
  (answer: (conversation: Conversation) => void): Twist =>
  ({ kind, dn }, conversation) => {
    const isPerson = kind === 'bind' && dn === ruth.dn
    if (isPerson) answer(conversation)
    return isPerson
  }

/** Changes the length stated in a message. */
const lengthened = (message: Buffer, at: number, by: number) => {
  const copy = Buffer.from(message)
  copy[at] = (copy[at] ?? 0) + by
  return copy
}
const small = (id: number) =>
  sequence(integer(id), value(tags.entry, octets('a'), sequence(sequence(octets('x'), value(0x31)))))

/** Behaviors of the server, each with the result of a login with the right password. */
const cases: readonly (readonly [what: string, twist: Twist, expected: string])[] = [
  ['never answers', () => true, unavailable],
  ['never answers a password', onBind(() => {}), unavailable],
  ['closes the connection', onSearch(({ socket }) => socket.destroy()), unavailable],
  [
    'ends in the middle of a message',
    onSearch(({ socket, id }) => socket.end(result(id, tags.done, 0).subarray(0, 9))),
    unavailable,
  ],
  [
    'never ends a message',
    onSearch(({ socket, id }) => {
      socket.write(entryMessage(id, person('ruth')).subarray(0, 30))
    }),
    unavailable,
  ],
  [
    'sends 10,000 entries',
    onSearch(({ socket, id, result: end }) => {
      socket.write(
        Buffer.concat(Array.from({ length: 10_000 }, (_, at) => entryMessage(id, person(`p${at}`)))),
      )
      end(tags.done, 0)
    }),
    unavailable,
  ],
  [
    'sends a message of a gigabyte',
    onSearch(({ socket }) => {
      socket.write(Buffer.of(0x30, 0x84, 0x40, 0, 0, 0, 2, 1))
    }),
    unavailable,
  ],
  [
    'sends 200,000 references in one piece',
    onSearch(({ socket, id }) => {
      socket.write(Buffer.alloc(1_400_000, sequence(integer(id), value(tags.reference))))
    }),
    unavailable,
  ],
  [
    'sends references, which are not followed',
    onSearch(({ socket, id, entry, result: end }) => {
      const reference = value(tags.reference, octets('ldap://127.0.0.1:1/dc=elsewhere'))
      socket.write(sequence(integer(id), reference))
      entry(person('ruth'))
      socket.write(sequence(integer(id), reference))
      end(tags.done, 0)
    }),
    '200',
  ],
  ['refers the search to another server', onSearch(({ result: end }) => end(tags.done, 10)), unavailable],
  ['refers the password to another server', onBind(({ result: end }) => end(tags.bind, 10)), unavailable],
  ['ends a search without a result', onSearch(({ result: end }) => end(tags.done, 80)), unavailable],
  [
    'sends lengths that are too long, inside',
    onSearch(({ socket, id }) => {
      for (const at of [6, 11]) socket.write(lengthened(small(id), at, 5))
    }),
    unavailable,
  ],
  [
    'sends lengths without an end',
    onSearch(({ socket }) => {
      socket.write(Buffer.of(0x30, 0x80, 2, 1, 2, 0, 0))
    }),
    unavailable,
  ],
  [
    'sends values that are deep inside of each other',
    onSearch(({ socket, id }) => {
      let inner = octets('x')
      for (let depth = 0; depth < 5_000; depth++) inner = value(0x30, inner)
      socket.write(sequence(integer(id), value(tags.entry, inner)))
    }),
    unavailable,
  ],
  [
    'sends something else than LDAP',
    onSearch(({ socket }) => {
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    }),
    unavailable,
  ],
  [
    'says yes to a password in an answer without a result',
    onBind(({ socket, id }) => {
      socket.write(sequence(integer(id), value(tags.bind)))
    }),
    unavailable,
  ],
  [
    'says yes to a password with an empty result',
    onBind(({ socket, id }) => {
      socket.write(sequence(integer(id), value(tags.bind, value(0x0a), octets(''), octets(''))))
    }),
    unavailable,
  ],
  [
    'says yes to another question',
    onBind(({ socket, id }) => {
      socket.write(result(id - 1, tags.bind, 0))
    }),
    unavailable,
  ],
  [
    'answers a password with the end of a search',
    onBind(({ result: end }) => end(tags.done, 0)),
    unavailable,
  ],
  [
    'ends the conversation by a notice',
    onBind(({ socket }) => {
      socket.write(sequence(integer(0), value(tags.extended, integer(52, 0x0a), octets(''), octets(''))))
    }),
    unavailable,
  ],
  ['wants more than a password', onBind(({ result: end }) => end(tags.bind, 14)), unavailable],
  ['says that the account is locked', onBind(({ result: end }) => end(tags.bind, 19)), failed],
  [
    'sends an entry without a name',
    onSearch(({ entry, result: end }) => {
      entry({ ...person('ruth'), dn: '' })
      end(tags.done, 0)
    }),
    failed,
  ],
]

test('LD3 whatever a server does, a login ends in time, counts nothing, and the next one is not harmed', async t => {
  const { service, directory, logIn } = await startCampus(t, { provider: { timeout: repeats(0.2, 0.4) } })
  /** Waits for any answer but `unavailable`, which a machine that pauses may cause. */
  const answered = (what: string) =>
    until(`an answer of a server that ${what}`, logIn, given => given !== unavailable)
  for (const [what, twist, expected] of cases) {
    directory.twist = twist
    assert.equal(await (expected === unavailable ? logIn() : answered(what)), expected, what)
    const levels = (await rowsOf(service)).filter(({ level }) => Number(level) > 0)
    assert.equal(levels.length > 0, expected === failed, `${what}: is it a guess?`)
    if (expected === failed) await forgetAttempts(service)
    directory.twist = undefined
    assert.equal(await answered(`${what}, when it does that no more`), '200')
  }
})

/** Starts a server that accepts connections and treats them as given. */
async function startSilent(t: TestContext): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    atEnd(t, () => void socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => void server.close())
  return (server.address() as AddressInfo).port
}

test('LD3 servers that never say anything, in TLS neither, are left for the next one in time', async t => {
  const directory = await startDirectory(t, entries, { tls: true })
  const silent = await startSilent(t)
  const ca = join(temporaryFolder(t, 'sqlite'), 'ca.pem')
  writeFileSync(ca, directory.certificate)
  const servers = [
    `ldaps://localhost:${silent}`,
    `ldap://localhost:${silent}`,
    `ldaps://localhost:${directory.port}`,
  ]
  const env = withDirectory(t, servers, { provider: { ca, startTls: true, timeout: repeats(0.25, 0.5) } })
  const logIn = loginsTo(await startService(t, { env }))
  await until('a login at the third server', logIn, given => given === '200')
})

test('LD3 StartTLS that is refused, or followed by something unencrypted, is the end of the conversation', async t => {
  const directory = await startDirectory(t, entries)
  const ca = join(temporaryFolder(t, 'sqlite'), 'ca.pem')
  writeFileSync(ca, directory.certificate)
  const provider = { ca, startTls: true, search: undefined, dn: 'uid={user},ou=people,dc=example,dc=edu' }
  const env = withDirectory(t, [`ldap://localhost:${directory.port}`], { provider })
  const logIn = loginsTo(await startService(t, { env }))
  assert.equal(await logIn(), '200')
  const onStartTls =
    (answer: (conversation: Conversation) => void, goesOn = false): Twist =>
    ({ kind }, conversation) => {
      if (kind === 'start-tls') answer(conversation)
      return kind === 'start-tls' && !goesOn
    }
  directory.twist = onStartTls(({ result: end }) => end(tags.extended, 2))
  assert.equal(await logIn(), unavailable)
  // Injected before TLS: a complete positive answer, and the beginning of one, which the server's own refusal
  // would complete as its error message.
  for (const injected of [
    (id: number) => result(id + 1, tags.bind, 0),
    (id: number) => Buffer.concat([Buffer.of(0x30, 26, 2, 1, id + 1, 0x61, 21, 0x0a, 1, 0, 4, 0, 4, 14)]),
  ]) {
    directory.twist = onStartTls(({ socket, id }) => {
      socket.write(Buffer.concat([result(id, tags.extended, 0), injected(id)]))
    })
    assert.equal(await logIn('ruth', 'wrong'), unavailable)
  }
  const sent = directory.asked.filter(({ isEncrypted }) => !isEncrypted)
  assert.ok(sent.every(({ kind }) => kind === 'start-tls'))
})
