import type { JSX } from 'preact'
import { pathOf } from '../../entities.ts'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { exportOf, type Filter, trail } from './trail.ts'

/** All events that the filter lets through. */
export const Export = ({ filter }: { readonly filter: Filter }): JSX.Element => (
  <DownloadMenu
    name={trail}
    choices={[
      { asked: async signal => ({ path: pathOf(trail), parameters: await exportOf(filter, signal) }) },
    ]}
  />
)
