import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Page } from '../parts/Page.tsx'
import { href } from '../router.ts'

const Missing = (): JSX.Element => (
  <Page title={t('missing')} lead={t('missing.help')}>
    <div class="row">
      <a class="button" href={href('')}>
        {t('nav.home')}
      </a>
    </div>
  </Page>
)

export default Missing
