export async function runInterop() {
  return 0
}
