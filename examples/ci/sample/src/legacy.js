import { sayHello } from './greet'

export const greetings = ['Ada', 'Grace'].map(sayHello)
