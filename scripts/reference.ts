import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  fileKeyOf,
  type SettingKey,
  secretKeys,
  settings,
  structuredSettings,
} from '../src/config/settings.ts'
import { problems } from '../src/http/problems.ts'
import { accessTable } from './access-table.ts'
import { clientApi } from './client-api.ts'
import { configSchema } from './config-schema.ts'
import { decisionRows, pages, withContents } from './contents.ts'
import { contract } from './contract.ts'
import { openApi, openApiDigest } from './open-api.ts'

/**
 * The parts of docs/ that are generated from the code. `npm run docs` writes them, and a test compares them.
 * A setting or a problem is described only once, where it is defined.
 */
const note = '<!-- Generated from the code by `npm run docs`. -->'

export const references: Readonly<Record<string, () => string | Promise<string>>> = {
  'contract.md': contract,
  'reference/settings.md': () => `${note}
# Settings

Every setting has a working default. Carrel reads a setting from the environment, or else from the JSON file that
\`CARREL_CONFIG\` names, under the same key. With an invalid value, Carrel does not start and says which values are valid.

| Key | Takes | Default |
|---|---|---|
${Object.entries(settings)
  .map(
    ([key, { takes, fallback }]) =>
      `| \`${key}\`${secretKeys.has(key as SettingKey) ? ` or \`${fileKeyOf(key)}\`` : ''} | ${takes} | ${fallback ? `\`${fallback}\`` : 'not set'} |`,
  )
  .join('\n')}

A secret can be in a file of up to 64 kB, as Docker and the \`LoadCredential\` of systemd provide it: the key that ends in
\`_FILE\` takes its path. It is one line of UTF-8; a line break at its end doesn't count. In the configuration file, a
relative path begins at the folder of that file, as it does for the secrets of single sign-on; in the environment, at the working directory.

\`CARREL_BASE_URL\` is \`http://localhost:<port>\` when it is not set.

The file's [JSON Schema](carrel.schema.json) helps editors: refer to it with \`"$schema"\`. [The guide](../sso.md)
explains each setting of \`singleSignOn\`.

## In the file only

| Key | Takes |
|---|---|
${Object.entries(structuredSettings)
  .map(([key, takes]) => `| \`${key}\` | \`${takes}\` |`)
  .join('\n')}
`,
  'reference/access.md': async () => `${note}
# Who may use which route

Each route states this beside its address, and one guard enforces it before a byte of the body is read
([decision](../decisions/access.md#0067-access-of-routes)). Routes that state the same share a row. *Access token* is the
part of the API that the token's scope must include; \`any\` needs no part, \`none\` takes no access token, and with
\`anonymous\` it counts as none. The token of a login is accepted wherever tokens are read. Rights that a route names are
looked up by the route itself.

${accessTable(await openApi())}`,
  'decisions/README.md': () => `${note}
# Decisions

Each page says how a part of Carrel works today, and why: choices, reasons, costs, and alternatives that were refused. The
number of a decision stays valid; comments in the sources cite it as \`docs/decisions/0024\`.

| Page | Decisions |
|---|---|
${decisionRows()}
`,
  'reference/carrel.schema.json': () => `${JSON.stringify(configSchema, null, 2)}\n`,
  'reference/openapi-digest.txt': openApiDigest,
  '../packages/client/src/api.ts': () => clientApi(openApi),
  'reference/problems.md': () => `${note}
# Problems

Every error is \`application/problem+json\` (RFC 9457): \`type\` (the address of the problem's page at the service itself,
\`{base_url}/api/problems/<code>\`), \`title\`, \`status\`, \`code\`, \`detail\`, \`message\` (the same as \`detail\`), \`path\`,
\`requestId\` (as in \`X-Request-Id\`, the log and the audit trail), and what helps to fix it: \`parameter\`, \`value\`, \`position\`, \`legal\`, \`nearest\`.

| Code | Status | Title | What helps |
|---|---|---|---|
${Object.entries(problems)
  .map(([code, { status, title, help }]) => `| \`${code}\` | ${status} | ${title} | ${help} |`)
  .join('\n')}
`,
}

/** Returns the path of a generated page. */
export const referencePath = (name: string): string =>
  fileURLToPath(new URL(`../docs/${name}`, import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, make] of Object.entries(references)) writeFileSync(referencePath(name), await make())
  for (const [path, page] of pages()) writeFileSync(referencePath(path), withContents(page))
}
