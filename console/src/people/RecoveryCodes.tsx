import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Copy, Download, Printer } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { copy } from '../parts/copy.ts'
import { save } from '../parts/save.ts'
import { Notice } from '../parts/states.tsx'
import { repositoryName } from '../settings.ts'

/** Recovery codes, which are shown once, with ways to keep them. */
export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }): JSX.Element {
  const text = `${t('recovery.title', { name: repositoryName })}\n\n${codes.join('\n')}\n`
  const actions = [
    ['copy', Copy, () => copy(codes.join('\n'))],
    ['download', Download, () => save(new Blob([text], { type: 'text/plain' }), 'recovery-codes.txt')],
    ['print', Printer, () => print()],
  ] as const
  return (
    <div class="stack">
      <Notice tone="warn">{t('recovery.once')}</Notice>
      <div class="recovery">
        <h2>{t('recovery.title', { name: repositoryName })}</h2>
        <ol>
          {codes.map(one => (
            <li key={one}>
              <code>{one}</code>
            </li>
          ))}
        </ol>
      </div>
      <div class="row">
        {actions.map(([name, icon, run]) => (
          <Button key={name} icon={icon} label={t(name)} onClick={run} />
        ))}
      </div>
    </div>
  )
}
