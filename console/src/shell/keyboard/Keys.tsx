import type { JSX } from 'preact'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import './keyboard.css'

/** Keys, with what they do. Alternatives are separated by a comma. */
const keys = [
  ['key.go', 'keys.go'],
  ['key.search', 'keys.search'],
  ['key.keys', 'keys.keys'],
  ['key.tab', 'keys.tab'],
  ['key.escape', 'keys.escape'],
  ['key.arrows', 'keys.arrows'],
  ['key.sort', 'keys.sort'],
  ['key.suggest', 'keys.suggest'],
  ['key.take', 'keys.take'],
  ['key.apply', 'keys.apply'],
] as const

/** Lists the keys that work here. */
const Keys = ({ onClose }: { readonly onClose: () => void }): JSX.Element => (
  <Dialog title={t('keys.title')} onClose={onClose}>
    <dl class="keys">
      {keys.map(([key, does]) => (
        <div key={does}>
          <dt>
            {t(key)
              .split(', ')
              .map(name => (
                <kbd key={name}>{name}</kbd>
              ))}
          </dt>
          <dd>{t(does)}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)

export default Keys
