import { sayHello } from './greet'

export function main(names: string[]): string[] {
  return names.map((name) => sayHello(name))
}
