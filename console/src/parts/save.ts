/** Offers a file for download in the browser. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // By then the browser has begun to read the file.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Reads a stream to its end, and reports the number of bytes read. */
export async function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  type: string,
  onProgress: (bytes: number) => void,
): Promise<Blob> {
  const pieces: Blob[] = []
  let held: Uint8Array<ArrayBuffer>[] = []
  let [bytes, inHand] = [0, 0]
  // The browser may keep a blob on disk; an array stays in memory.
  const put = () => {
    pieces.push(new Blob(held))
    held = []
    inHand = 0
  }
  for await (const piece of iterate(stream)) {
    held.push(piece)
    bytes += piece.length
    inHand += piece.length
    if (inHand > 8_000_000) put()
    onProgress(bytes)
  }
  put()
  return new Blob(pieces, { type })
}

/** Iterates over a stream, which not every browser can do by itself. */
async function* iterate<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
