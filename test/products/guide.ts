import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanEnvironment, repository, run } from '../support/service/process.ts'

/** A guide in docs/how-to/ that a test follows block by block, with its own addresses and folders. */
export interface Guide {
  /** Returns the block of a language that contains a text, with the test's own values. */
  block(language: string, containing: string): string
  /**
   * Runs the block of shell commands that contains a text, without sudo, and with a curl that accepts any
   * certificate, because those of products are the test's own.
   *
   * @throws AssertionError if a command fails
   */
  sh(containing: string, options?: Running): Promise<void>
}

interface Running {
  readonly env?: Readonly<Record<string, string>>
  /** The working directory of the commands. */
  readonly cwd?: string
  /** Returns the log of a product, for the message of a failure. */
  readonly log?: () => string
}

/**
 * @param name of the file, without `.md`
 * @param places texts of the guide with the test's own values, which replace them everywhere in one pass
 */
export function openGuide(name: string, places: Readonly<Record<string, string>>): Guide {
  const text = readFileSync(join(repository, 'docs/how-to', `${name}.md`), 'utf8')
  const blocks = [...text.matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)].map(([, language, content = '']) => ({
    language,
    content,
  }))
  const literally = (from: string) => from.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const known = new RegExp(Object.keys(places).map(literally).join('|'), 'g')
  const block = (language: string, containing: string) => {
    const found = blocks.filter(one => one.language === language && one.content.includes(containing))
    assert.equal(found.length, 1, `${name}.md has one block of ${language} with ${containing}`)
    return (found[0]?.content ?? '').replaceAll(known, from => places[from] ?? from)
  }
  return {
    block,
    sh: async (containing, { env = {}, cwd = tmpdir(), log = () => '' } = {}) => {
      const commands = block('sh', containing)
        .replaceAll('sudo -u www-data ', 'setpriv --reuid=www-data --regid=www-data --clear-groups ')
        .replaceAll('sudo ', '')
        .replaceAll('curl ', 'curl -k ')
      const { code, stdout, stderr } = await run('sh', ['-e', '-c', commands], {
        env: cleanEnvironment(env),
        cwd,
      })
      assert.equal(code, 0, `${commands}\n${stdout}${stderr}${log()}`)
    },
  }
}
