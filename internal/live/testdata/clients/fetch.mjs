// Three ways to retry after 429, as guides print them, and a driver:
//
//	node fetch.mjs WAY URL REQUESTS
//
// sends so many requests at once, each with an Idempotency-Key of its own.

const sleep = ms => new Promise(done => setTimeout(done, ms))

const ways = {
  // A quarter of jitter to both sides; a date is not read.
  async bothSides(url, init, { maxRetries = 3, baseDelayMs = 1000, maxDelayMs = 30000 } = {}) {
    for (let attempt = 0; attempt <= maxRetries; attempt++) {
      const response = await fetch(url, init)
      if (response.status !== 429 || attempt === maxRetries) return response
      const retryAfter = response.headers.get('Retry-After')
      let delayMs = Math.min(Math.pow(2, attempt) * baseDelayMs, maxDelayMs)
      if (retryAfter && /^\d+$/.test(retryAfter)) delayMs = parseInt(retryAfter, 10) * 1000
      await sleep(delayMs * (0.75 + Math.random() * 0.5))
    }
  },

  // Jitter on top; a date is no number, and NaN is no wait.
  async onTop(url, init, { attempts = 3, baseMs = 200 } = {}) {
    for (let i = 0; i < attempts; i++) {
      const response = await fetch(url, init)
      if (response.status !== 429 || i === attempts - 1) return response
      const retryAfter = Number(response.headers.get('Retry-After') ?? '1') * 1000
      const backoff = Math.max(retryAfter, baseMs * 2 ** i)
      await sleep(backoff + backoff * Math.random() * 0.3)
    }
  },

  // No jitter; parseInt of a date is NaN.
  async plain(url, init, maxRetries = 3) {
    for (let attempt = 0; attempt < maxRetries; attempt++) {
      const response = await fetch(url, init)
      if (response.status !== 429) return response
      const retryAfter = response.headers.get('Retry-After')
      await sleep(retryAfter ? parseInt(retryAfter, 10) * 1000 : Math.min(1000 * 2 ** attempt, 30000))
    }
    throw new Error('Rate limit exceeded after retries')
  },
}

const [, , way, url, requests] = process.argv
await Promise.allSettled(Array.from({ length: Number(requests) }, async (_, i) => {
  const response = await ways[way](url, { headers: { 'X-Api-Key': way, 'Idempotency-Key': `${way}-${i}` } })
  await response.text()
}))
