/** Letters that Unicode does not take apart, and how they are typed where the keyboard lacks them. */
const SPELLED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
}
const SPELLED_LETTERS = new RegExp(`[${Object.keys(SPELLED).join('')}]`, 'gu')
const BEYOND_ASCII = /[\u0080-\uffff]+/g

/**
 * Text as it is compared in a search: case, width and accents do not matter. Marks that make another letter of one
 * (the voicing of kana, vowels of Indic scripts) stay.
 */
export function foldText(text: string): string {
  return text.toLowerCase().replace(BEYOND_ASCII, foldPart)
}

function foldPart(part: string): string {
  return part
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(SPELLED_LETTERS, (letter) => SPELLED[letter] ?? letter)
}
