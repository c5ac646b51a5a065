import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDemo } from '../../src/cli/demo.ts'
import { examplesIn, shownAddress } from '../support/clients/document.ts'
import { type Followed, followDocument } from '../support/clients/followed.ts'
import { everybody, putItem } from '../support/data/repository.ts'
import { identity } from '../support/providers/certificates.ts'
import { startSmtpCatcher } from '../support/providers/smtp-catcher.ts'
import { type Engine, runSqlIn } from '../support/service/engines.ts'
import { passwordOf, type Service, startService, temporaryFolder } from '../support/service/service.ts'

/** A guide in docs/how-to/, followed from beginning to end in one shell. */

interface Guide extends Omit<Followed, 'path'> {
  readonly engine?: Engine
  /** Settings that the guide requires before the service starts. */
  readonly env?: (
    t: TestContext,
    folder: string,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /** Prepares data that a reader already has. */
  readonly prepare?: (service: Service, folder: string) => Promise<unknown>
  /** Absent software of this machine, and what runs in its place. */
  readonly without?: string
}

const hasPython = spawnSync('python3', ['--version']).status === 0

/** Replaces commands that a test may not run, or that belong to the machine. */
const sudo = `
sudo() {
  case "$1" in
    -u) shift 2; "$@" ;;
    tee) "$@" ;;
    *) echo "$*" >> sudo.log ;;
  esac
}
`

const writeBlock = (path: string, language: string, file: string) =>
  writeFileSync(file, examplesIn(path).find(one => one.language === language)?.text ?? '')

const logInAs = (email: string) => `
API=${shownAddress}/api
curl -s -c carrel.cookies $API/security/csrf
CSRF=$(awk '/XSRF/ {print $7}' carrel.cookies)
TOKEN=$(carrel token ${email})
`

const puts = 'test/products/metrics.test.ts'
const sends = 'test/products/send-files.test.ts'
const directory = 'test/products/ldap.test.ts'

const guides: Readonly<Record<string, Guide>> = {
  backup: {
    engine: 'postgres',
    prepare: async service => {
      await putItem(service, 'test/1', everybody, [
        { name: 'one.txt', content: Buffer.from('one') },
        { name: 'two.txt', content: Buffer.from('two') },
      ])
      await runSqlIn(
        service.dataFolder,
        `CREATE TABLE public.art (id integer PRIMARY KEY, title text); INSERT INTO public.art VALUES (1, 'Dawn')`,
      )
    },
    before: `ssh() { bash -c "$2"; }\n`,
    places: { '/backup/carrel': 'backup', '/var/lib/carrel': 'restored' },
    steps: [
      {
        at: 'Removed 3 old backups',
        by: `
for n in 1 2; do carrel backup $PWD/backup > done; done
carrel backup $PWD/backup --keep 1`,
      },
      { at: '[Timer]', by: `eval "$(sed -n 's/^ExecStart=//p' $BLOCK)"; carrel backup $PWD/backup --keep 1` },
      {
        at: 'bytes instead of',
        exit: 1,
        by: `
FILE=$(find backup/contents -type f -size +100k | head -1)
printf xx >> $FILE
carrel backup verify $PWD/backup`,
      },
      {
        at: 'CARREL_DATA=/var/lib/carrel',
        before: 'truncate -s -2 $FILE; DATABASE=$CARREL_DATABASE_URL; unset CARREL_DATABASE_URL',
      },
      {
        at: 'expose them again',
        by: `
export CARREL_DATABASE_URL=$DATABASE
{ carrel expose public.art --entity art --key id --fields id,title --read anonymous; carrel backup $PWD/backup; } > done
unset CARREL_DATABASE_URL
CARREL_DATA=$PWD/again carrel restore $PWD/backup | grep -A1 "^Tables"`,
      },
    ],
    least: 8,
  },
  ingest: {
    steps: [
      { at: 'from-dspace/one/handle\nfrom', by: 'cp $BLOCK listed' },
      {
        at: 'from-dspace --dry-run',
        before: 'diff <(find from-dspace -type f | sort) <(sort listed)',
        exit: 1,
      },
      {
        at: 'It would change',
        by: `sed -i s/Ruth/Eva/ from-dspace/one/dublin_core.xml
carrel ingest from-dspace --dry-run`,
      },
      { at: '--add-only', exit: 1 },
    ],
    least: 9,
  },
  import: {
    steps: [
      {
        at: 'artworks.ndjson.gz',
        before: `printf '{"id": 1, "year": 1904}\\n{"id": 2, "year": 1906}\\n' | gzip > artworks.ndjson.gz`,
      },
      {
        at: 'artworks would go',
        exit: 1,
        by: `
awk 'BEGIN {
  for (id = 1; id <= 10000; id++) printf "{\\"id\\":%d,\\"artist\\":1,\\"title\\":1,\\"medium\\":1}\\n", id
}' > all.ndjson
carrel import all.ndjson --entity artworks --key id --replace > /dev/null 2>&1
echo '{"id": 1, "artist": 1}' > one.ndjson
carrel import one.ndjson --entity artworks --key id`,
      },
      {
        at: '--update',
        before: `carrel import artworks.ndjson.gz --entity artworks --key id --replace > /dev/null 2>&1
printf '{"id": 3, "year": 1908}\\n' > changed.ndjson; printf 'id\\n1\\n' > gone.csv`,
      },
      {
        at: 'which are equal numbers',
        by: `
printf 'id,object_number\\n1,1998.1\\n2,1998.10\\n' > objects.csv
carrel import objects.csv --entity objects --key id 2>&1 | grep object_number:`,
      },
      {
        at: 'line 2: the field',
        exit: 1,
        by: `
{ echo '{"id": 1, "year": 1900}'; echo '{"id": 2, "year": "soon"}'; echo '{"id": 3}'; echo '{"id": 4}'; for year in $(seq 25); do echo "{\\"year\\": $year}"; done; } > wrong.ndjson
carrel import wrong.ndjson --entity wrong --key id --type year=integer`,
      },
    ],
    least: 4,
  },
  run: {
    before: sudo,
    places: { '/etc/carrel.env': 'carrel.env', '/var/lib/carrel': 'data' },
    steps: [
      { at: 'CARREL_ALLOWED_ORIGINS=', by: 'cp $BLOCK carrel.env' },
      {
        at: 'carrel doctor',
        // The folders of tests are in memory.
        instead: [
          ['carrel doctor', `carrel doctor > found || ! grep ^warning found | grep -v 'is in memory'`],
        ],
      },
    ],
    least: 5,
  },
  monitor: {
    before: sudo,
    places: { '/etc/carrel.env': 'carrel.env' },
    steps: [
      { at: 'location ~', elsewhere: puts },
      { at: 'scrape_configs', elsewhere: puts },
      { at: 'promtool', elsewhere: puts },
    ],
    least: 1,
  },
  'audit-trail': {
    before:
      'for name in ada bob eva ida ruth; do carrel eperson add $name@example.org --no-password; done > added\n',
    steps: [
      {
        at: '--checkpoint 6:',
        instead: [
          [
            '6:2d4166b83eac67af3f6e72c1ecdee7b8a5edf6b2fae1f108f89a6766ab1451e4',
            '$(carrel events verify | tail -1)',
          ],
        ],
      },
    ],
    least: 4,
  },
  'act-on-behalf': {
    env: () => ({ CARREL_LOGIN_ON_BEHALF_OF: 'true' }),
    prepare: service => createDemo(service.storage, service.config.files),
    before: logInAs('admin@example.org'),
    steps: [
      {
        at: 'UUID=…',
        instead: [
          [
            'UUID=…',
            `UUID=$(curl -s -H "Authorization: Bearer $TOKEN" $API/query/v4/epersons | tr '}' '\\n' | grep reader@example.org | grep -oE '[0-9a-f-]{36}' | head -1)`,
          ],
        ],
      },
      {
        at: 'BITSTREAM=…',
        instead: [
          [
            'BITSTREAM=…',
            `BITSTREAM=$(curl -s -H "Authorization: Bearer $TOKEN" -H "X-On-Behalf-Of: $UUID" "$API/query/v4/bitstreams?limit=1" | grep -oE '[0-9a-f-]{36}' | head -1)`,
          ],
        ],
      },
    ],
    least: 4,
  },
  expose: {
    engine: 'postgres',
    prepare: async service => {
      await service.addEperson('ruth@example.org', { admin: true })
      await runSqlIn(
        service.dataFolder,
        `CREATE TABLE public.artists (id integer PRIMARY KEY, name text, born integer, secret text);
         INSERT INTO public.artists VALUES (1, 'Zoë', 1900, 'x'), (2, 'Ada', null, 'y')`,
      )
    },
    before: `${logInAs('ruth@example.org')}
AUTH=(-b carrel.cookies -H "X-XSRF-TOKEN: $CSRF" -H "Authorization: Bearer $TOKEN")`,
    least: 2,
  },
  'special-groups': {
    env: (_t, folder) => {
      const file = join(folder, 'carrel.json')
      writeBlock('docs/how-to/special-groups.md', 'json', file)
      return { CARREL_CONFIG: file }
    },
    steps: [
      {
        at: 'specialGroups',
        by: `
export CARREL_CONFIG=$BLOCK
echo '{"id": 1}' > maps.ndjson
carrel import maps.ndjson --entity maps --key id --read group:Campus
from() { lenient_curl -so answer -w '%{http_code}' -H "X-Forwarded-For: $1" ${shownAddress}/api/query/v4/maps; }
test "$(from 10.1.2.3) $(from '[2001:db8::7]:4000') $(from 10.9.1.1) $(from 192.0.2.1)" = '200 200 401 401'`,
      },
    ],
    least: 1,
  },
  upgrade: {
    before: sudo,
    places: { '/backup/carrel': 'backup', '/var/lib/carrel': 'restored' },
    steps: [
      {
        at: 'retry-connrefused',
        instead: [['carrel doctor', 'carrel doctor > found || ! grep ^error found']],
      },
      {
        at: 'sudo mv',
        // The user of the service can't make the folder.
        instead: [
          [
            'sudo npm install -g ./carrel-<old version>.tgz',
            "grep '^install -d -o carrel -g carrel' sudo.log",
          ],
        ],
      },
      { at: 'sudo npm install -g ./carrel-<version>', instead: [['carrel-<version>', 'carrel-0.1.0']] },
    ],
    least: 4,
  },
  probes: {
    steps: [
      {
        at: 'livenessProbe',
        by: `for path in $(grep -oE 'path: [a-z/]+' $BLOCK | cut -c7- | sort -u); do curl -fsS ${shownAddress}$path; done`,
      },
    ],
    least: 2,
  },
  'use-from-python': {
    ...(!hasPython && { without: 'without Python, whose query curl sends' }),
    prepare: async (service, folder) => {
      writeFileSync(join(folder, 'address'), service.address)
      await createDemo(service.storage, service.config.files)
    },
    steps: [
      { at: '# letters.py', by: `sed "s#${shownAddress}#$(cat address)#" $BLOCK > letters.py` },
      {
        at: 'python3 letters.py',
        before: hasPython
          ? ''
          : `python3() {
  curl -sG -H "Authorization: Bearer $TOKEN" -H 'Accept: text/csv' ${shownAddress}/api/query/v4 --data-urlencode \\
    "query=$(sed -n "s/.*ask('\\(.*\\)'):/\\1/p" $1)" | tail -n +2 | tr -d '"\\r'
}`,
      },
    ],
    least: 3,
  },
  'who-may-read-what': {
    prepare: async service => {
      await service.addEperson('admin@example.org', { admin: true })
      await service.addEperson('ruth@example.org', { groups: ['Curators'] })
      await putItem(service, 'maps/1', everybody, [{ name: 'scan.pdf', content: Buffer.from('one') }])
    },
    before: `API=${shownAddress}/api\n`,
    steps: [
      {
        at: 'instruments.ndjson',
        instead: [["| grep ' by'", "| grep -cE '^(Read|Written) by: eperson:' | grep 2"]],
      },
      {
        at: 'RUTH=',
        instead: [
          [
            '-d entity=instruments',
            `-d entity=instruments | grep -o '"read":{"may":true,"because":"eperson:'`,
          ],
        ],
      },
    ],
    least: 3,
  },
  'send-files': {
    steps: [
      { at: 'chgrp', elsewhere: sends },
      { at: 'location ~', elsewhere: sends },
      { at: 'a2enmod', elsewhere: sends },
      { at: 'VirtualHost', elsewhere: sends },
      { at: 'curl -si', elsewhere: sends },
    ],
    least: 0,
  },
  mail: {
    env: async (t, folder) => {
      const catcher = await startSmtpCatcher(t)
      void catcher.mail(1).then(({ links: [link = ''] }) => writeFileSync(join(folder, 'link'), link))
      return {
        CARREL_SMTP_URL: catcher.url,
        CARREL_MAIL_FROM: 'Archive <archive@example.edu>',
        CARREL_UI_URL: 'https://ui.example.edu',
      }
    },
    prepare: service => service.addEperson('ruth@example.org'),
    before: logInAs('ruth@example.org'),
    steps: [
      { at: 'CARREL_SMTP_URL', by: 'cp $BLOCK mail.env; (set -a; . ./mail.env; carrel eperson list)' },
      { at: 'CARREL_REGISTRATION', by: '(set -a; . ./mail.env; . $BLOCK; carrel eperson list)' },
      {
        at: 'TOKEN=…',
        instead: [
          ['TOKEN=…', 'until test -s link; do sleep 0.1; done; TOKEN=$(grep -oE "[^/]+$" link)'],
          ['findByToken?token=$TOKEN"', 'findByToken?token=$TOKEN" | tee found; echo'],
          ['UUID=…', `UUID=$(grep -oE '"user":"[^"]+' found | cut -d '"' -f 4)`],
          ['"new_password": "…"', '"new_password": "four quiet rivers"'],
        ],
      },
    ],
    least: 3,
  },
  'second-factor': {
    prepare: service => service.addEperson('ruth@example.org'),
    before: `API=${shownAddress}/api; PASSWORD='${passwordOf('ruth@example.org')}'\n`,
    steps: [
      { at: 'CARREL_SECOND_FACTOR', by: '(set -a; . $BLOCK; carrel eperson list)' },
      { at: '-d totp=123456', before: 'set -o pipefail' },
    ],
    least: 3,
  },
  ldap: {
    prepare: async (_service, folder) =>
      writeFileSync(join(folder, 'ca.pem'), identity('directory').certificate),
    steps: [
      { at: '"singleSignOn"', by: 'cp $BLOCK carrel.json' },
      { at: 'carrel sso check', elsewhere: directory },
      { at: '"dn": "uid={user}', elsewhere: directory },
      { at: '"groupSearch": {', elsewhere: directory },
      {
        at: '"entryUUID": "6f1c…"',
        by: `cp $BLOCK ruth.json
CARREL_CONFIG=carrel.json LDAP_PASSWORD=search-secret carrel sso explain --attributes ruth.json | tee explained
grep -q Staff explained`,
      },
      { at: 'openssl req', elsewhere: directory },
      { at: 'moduleload', elsewhere: directory },
      { at: 'objectClass: dcObject', elsewhere: directory },
      { at: 'slapd -d 0', elsewhere: directory },
    ],
    least: 2,
  },
}

for (const [name, { engine = 'sqlite', env, prepare, without, ...guide }] of Object.entries(guides))
  test(`D1 every command of docs/how-to/${name}.md works and shows what the guide shows (${without ?? engine})`, async t => {
    const folder = temporaryFolder(t, 'sqlite')
    const settings = { CARREL_BASE_URL: shownAddress, ...(await env?.(t, folder)) }
    const service = await startService(t, { engine, env: settings })
    await prepare?.(service, folder)
    await followDocument(service, { path: `docs/how-to/${name}.md`, ...guide }, folder)
  })
