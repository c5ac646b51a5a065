import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import type { Bitstream } from './load.ts'
import { contentOf } from './Viewer.tsx'

/**
 * A small picture of an item. It is loaded when it comes into view, with the session's own header: no address
 * with a token is kept anywhere. A file that is no picture after all stays an empty frame.
 */
export function Thumbnail({ file }: { readonly file: Bitstream }): JSX.Element {
  const frame = useRef<HTMLSpanElement>(null)
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const { current } = frame
    if (!current) return
    const controller = new AbortController()
    let made: string | undefined
    const load = async () => {
      const { signal } = controller
      const response = await service.value.request('GET', contentOf(file), {
        headers: { accept: '*/*' },
        signal,
      })
      const content = await response.blob()
      if (signal.aborted) return
      made = URL.createObjectURL(content)
      setAddress(made)
    }
    const observer = new IntersectionObserver(seen => {
      if (!seen.some(one => one.isIntersecting)) return
      observer.disconnect()
      // Without its picture, the item is still there.
      load().catch(() => {})
    })
    observer.observe(current)
    return () => {
      observer.disconnect()
      controller.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [])
  return (
    <span class="thumb" ref={frame}>
      {address && <img src={address} alt="" onError={() => setAddress(undefined)} />}
    </span>
  )
}
