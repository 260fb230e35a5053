import {
  type AppState,
  createStore,
  getDefaultAppState,
  selectCwd,
  selectRunningTaskIds,
} from '@loci/app-state'
import { StoreProvider, useAppState, useAppStore } from '@loci/app-state/react'
import { act, createElement, type ReactNode, StrictMode } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

// The components here render nothing and write down what they saw, so React needs no more of a page than this.
const nothing = (): void => undefined

class Page {
  readonly nodeType = 1
  readonly nodeName = 'DIV'
  readonly tagName = 'DIV'
  readonly namespaceURI = 'http://www.w3.org/1999/xhtml'
  readonly firstChild = null
  readonly ownerDocument = {
    nodeType: 9,
    addEventListener: nothing,
    activeElement: null,
    defaultView: undefined,
  }
  readonly addEventListener = nothing
  textContent = ''
}

const isElement = (page: object): page is Element => page instanceof Page

const page = (): Element => {
  const made = new Page()
  if (!isElement(made)) throw new Error('no page')
  return made
}

let consoleError = vi.spyOn(console, 'error')

beforeEach(() => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
  vi.stubGlobal('window', { HTMLIFrameElement: Page })
  consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined)
})

afterEach(() => {
  // React warns there of snapshots that are not stable, of updates outside of act, of hydration that differs.
  expect(consoleError).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const render = (node: ReactNode): { again: (node: ReactNode) => void; unmount: () => void } => {
  const root = createRoot(page())
  act(() => root.render(node))
  return { again: (next) => act(() => root.render(next)), unmount: () => act(() => root.unmount()) }
}

/** A component that writes down what it saw each time it rendered. */
function seeing<S>(useSlice: () => S): { Component: () => null; seen: S[] } {
  const seen: S[] = []
  return {
    Component: () => {
      seen.push(useSlice())
      return null
    },
    seen,
  }
}

const fresh = () => createStore(getDefaultAppState())

const under = (store: ReturnType<typeof fresh>, ...components: (() => ReactNode)[]): ReactNode =>
  createElement(StoreProvider, { store }, ...components.map((component) => createElement(component)))

describe('useAppState', () => {
  test('a component sees its slice and renders again when that changes, and only then', () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState(selectCwd))
    render(under(store, Component))
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    act(() => store.setState((state) => ({ ...state, statusLineText: 'other' })))
    act(() => store.setState((state) => ({ ...state, cwd: '/elsewhere' })))
    expect(seen).toEqual([null, '/work', '/elsewhere'])
  })

  test('it renders no more once it is gone', () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState(selectCwd))
    const { unmount } = render(under(store, Component))
    unmount()
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    expect(seen).toEqual([null])
  })

  test('a selector may be written in place and see the component’s props', () => {
    const store = createStore(getDefaultAppState({ mcpClientStatus: { a: 'pending', b: 'failed' } }))
    const seen: unknown[] = []
    const Status = ({ name }: { name: string }): null => {
      seen.push(useAppState((state) => state.mcpClientStatus[name]))
      return null
    }
    const of = (name: string) => createElement(StoreProvider, { store }, createElement(Status, { name }))
    const { again } = render(of('a'))
    again(of('b'))
    expect(seen).toEqual(['pending', 'failed'])
  })

  test('a selector of the package that derives an array does not render anew when other fields change', () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState(selectRunningTaskIds))
    render(under(store, Component))
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    expect(seen).toEqual([[]])
  })

  test.each([
    ['written in place', () => useAppState((state) => ({ cwd: state.cwd }))],
    ['kept outside', () => useAppState(selectCwdObject)],
  ])('a selector %s that returns a new object renders once a change, not for ever', (_, useSlice) => {
    const store = fresh()
    const { Component, seen } = seeing(useSlice)
    const { again } = render(under(store, Component))
    expect(seen).toHaveLength(1)
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    act(() => store.setState((state) => ({ ...state, statusLineText: 'other' })))
    expect(seen).toEqual([{ cwd: null }, { cwd: '/work' }, { cwd: '/work' }])
    again(under(store, Component))
    expect(seen).toHaveLength(4)
  })

  test.each([
    [
      'written in place',
      () =>
        useAppState(
          (state) => ({ cwd: state.cwd }),
          (a, b) => a.cwd === b.cwd,
        ),
    ],
    ['kept outside', () => useAppState(selectCwdObject, sameCwd)],
  ])('with `equal` a selector %s keeps the object it had and renders nothing', (_, useSlice) => {
    const store = fresh()
    const { Component, seen } = seeing(useSlice)
    const { again } = render(under(store, Component))
    act(() => store.setState((state) => ({ ...state, statusLineText: 'other' })))
    expect(seen).toHaveLength(1)
    again(under(store, Component))
    expect(seen[1]).toBe(seen[0])
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    act(() => store.setState((state) => ({ ...state, statusLineText: 'and another' })))
    expect(seen).toEqual([{ cwd: null }, { cwd: null }, { cwd: '/work' }])
  })

  test('with `equal` a change while the component is being mounted that makes no difference renders nothing', () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState(selectCwdObject, sameCwd))
    const Changing = (): null => {
      store.setState((state) => ({ ...state, statusLineText: 'other' }))
      return null
    }
    render(under(store, Component, Changing))
    expect(seen).toEqual([{ cwd: null }])
  })

  test('it works in strict mode', () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState((state) => [state.cwd]))
    render(createElement(StrictMode, null, under(store, Component)))
    act(() => store.setState((state) => ({ ...state, cwd: '/work' })))
    expect(seen.at(-1)).toEqual(['/work'])
  })

  test('a change made while the component is mounted is not missed', async () => {
    const store = fresh()
    const { Component, seen } = seeing(() => useAppState(selectCwd))
    const Setting = (): null => {
      const { getState, setState } = useAppStore()
      if (getState().cwd === null) queueMicrotask(() => setState((state) => ({ ...state, cwd: '/work' })))
      return null
    }
    const root = createRoot(page())
    await act(async () => root.render(under(store, Component, Setting)))
    expect(seen).toEqual([null, '/work'])
  })

  test('what a selector throws comes out of rendering, and other listeners heard', () => {
    const store = fresh()
    const heard = vi.fn<() => void>()
    const { Component } = seeing(() =>
      useAppState((state) => {
        if (state.cwd) throw new Error('selector')
        return 1
      }),
    )
    render(under(store, Component))
    store.subscribe(heard)
    expect(() => act(() => store.setState((state) => ({ ...state, cwd: '/work' })))).toThrow('selector')
    expect(heard).toHaveBeenCalledTimes(1)
  })
})

describe('StoreProvider', () => {
  test('the nearest provider counts, and another store in its place is followed', () => {
    const [outer, inner] = [fresh(), createStore(getDefaultAppState({ cwd: '/inner' }))]
    const { Component, seen } = seeing(() => useAppState(selectCwd))
    const { again } = render(createElement(StoreProvider, { store: outer }, under(inner, Component)))
    expect(seen).toEqual(['/inner'])
    const other = createStore(getDefaultAppState({ cwd: '/other' }))
    again(createElement(StoreProvider, { store: outer }, under(other, Component)))
    act(() => other.setState((state) => ({ ...state, cwd: '/other/deeper' })))
    act(() => inner.setState((state) => ({ ...state, cwd: '/not/seen' })))
    expect(seen).toEqual(['/inner', '/other', '/other/deeper'])
  })

  test('useAppStore gives the store itself', () => {
    const store = fresh()
    const { Component, seen } = seeing(useAppStore)
    render(under(store, Component))
    expect(seen).toEqual([store])
  })

  test('without a provider the error says what to do', () => {
    const { Component } = seeing(() => useAppState(selectCwd))
    expect(() => renderToString(createElement(Component))).toThrow('put a <StoreProvider store={…}> above')
  })
})

describe('rendering on a server', () => {
  const Text = (): ReactNode => useAppState((state) => `in ${state.cwd}`)

  test('the state of the moment is rendered', () => {
    const store = createStore(getDefaultAppState({ cwd: '/work' }))
    expect(renderToString(under(store, Text))).toBe('in /work')
  })

  test('a selector that returns a new object is rendered too', () => {
    const Size = (): ReactNode => Object.keys(useAppState((state) => ({ ...state }))).length
    expect(renderToString(under(fresh(), Size))).toBe('14')
  })

  test('a change in the middle of a rendering does not tear it: all see the state that it began with', () => {
    const store = createStore(getDefaultAppState({ cwd: '/first' }))
    const Changing = (): null => {
      store.setState((state) => ({ ...state, cwd: '/second' }))
      return null
    }
    expect(renderToString(under(store, Text, Changing, Text))).toBe('in /first<!-- -->in /first')
  })

  test('while hydrating, components see the state that the provider began with, and then the newest', () => {
    const store = createStore(getDefaultAppState({ cwd: '/first' }))
    const Changing = (): null => {
      if (store.getState().cwd === '/first') store.setState((state) => ({ ...state, cwd: '/second' }))
      return null
    }
    const { Component, seen } = seeing(() => useAppState(selectCwd))
    act(() => void hydrateRoot(page(), under(store, Changing, Component)))
    expect(seen).toEqual(['/first', '/second'])
  })
})

function selectCwdObject(state: AppState): { cwd: string | null } {
  return { cwd: state.cwd }
}

function sameCwd(a: { cwd: string | null }, b: { cwd: string | null }): boolean {
  return a.cwd === b.cwd
}
