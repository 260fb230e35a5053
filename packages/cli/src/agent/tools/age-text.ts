const DAY_MS = 24 * 60 * 60 * 1000

/** How long ago something was, in words: `today`, `3 days ago`, `2 months ago`. What is still to come is `today`. Pure. */
export function ageText(atMs: number, now: Date): string {
  const days = Math.floor((now.getTime() - atMs) / DAY_MS)
  if (days < 1) return 'today'
  if (days < 14) return ago(days, 'day')
  if (days < 60) return ago(Math.floor(days / 7), 'week')
  if (days < 730) return ago(Math.floor(days / 30.44), 'month')
  return ago(Math.floor(days / 365.25), 'year')
}

function ago(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`
}
