import type { JSX } from 'preact'
import { queryBase, service } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { Copy } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { copy } from '../parts/copy.ts'
import { Dialog } from '../parts/Dialog.tsx'
import { href } from '../router.ts'
import { eperson } from '../session.ts'
import { isAst } from './pql.ts'
import { addressOf, astOf, clientOf, curlOf, fetchOf, placeholder, type Requested } from './request-texts.ts'
import './query.css'

interface Parts {
  readonly requested: Requested
  readonly onClose: () => void
}

/** Shows what a page asks the service for, in the forms in which programs ask. */
export default function RequestDialog({ requested, onClose }: Parts): JSX.Element {
  const needsToken = eperson.value !== undefined
  const place = { service: service.value.url, queryBase, needsToken }
  const ast = astOf(requested)
  const forms = [
    [t('request.link'), location.href],
    [t('request.address'), addressOf(requested, place)],
    ['curl', curlOf(requested, place)],
    ['fetch', fetchOf(requested, place)],
    [t('request.client'), clientOf(requested, place)],
    ...(isAst(requested.query) ? [] : [['PQL', requested.query] as const]),
    ...(ast === undefined ? [] : [['AST', ast] as const]),
  ] as const
  return (
    <Dialog wide title={t('request')} onClose={onClose}>
      <p class="soft">
        {t('request.help')}{' '}
        {needsToken && (
          <>
            {t('request.token', { placeholder })} <a href={href('tokens')}>{t('nav.tokens')}</a>
          </>
        )}
      </p>
      {forms.map(([name, text]) => (
        <section key={name} class="request" aria-label={name}>
          <div class="row spread">
            <h3>{name}</h3>
            <Button
              look="quiet"
              icon={Copy}
              size={16}
              label={t('copy')}
              aria-label={t('request.copy', { name })}
              onClick={() => copy(text)}
            />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard */}
          <pre tabIndex={0}>{text}</pre>
        </section>
      ))}
    </Dialog>
  )
}
