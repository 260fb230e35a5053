/** Whether the long tests run (`LOCI_LONG=1`). */
export const LONG: boolean = process.env['LOCI_LONG'] === '1'

/** How often to try: `few` times by default, `all` with the long tests. */
export function times(few: number, all: number): number {
  return LONG ? all : few
}
