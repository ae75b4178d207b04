import { ContainerModule, type Container } from 'inversify';

/** Binds one of `Things` once for the process; `make` receives those that it names. A wrong type does not compile. */
export type Provide<Things> = <N extends keyof Things, const D extends readonly (keyof Things)[]>(
  name: N,
  needs: D,
  make: (needed: Pick<Things, D[number]>) => NonNullable<Things[N]>,
) => void;

/**
 * A module that binds things by their names; `isBound` reports which are bound so far. Clients and files are opened
 * earlier and passed in ready-made.
 */
export function provideModule<Things>(
  list: (provide: Provide<Things>, isBound: (name: keyof Things) => boolean) => void,
): ContainerModule {
  return new ContainerModule(({ bind, isBound }) => {
    list(
      (name, needs, make) => {
        const named = (needed: readonly unknown[]) => Object.fromEntries(needs.map((need, at) => [need, needed[at]]));
        bind(name as string)
          .toResolvedValue((...needed: unknown[]) => make(named(needed) as never), needs.map(String))
          .inSingletonScope();
      },
      (name) => isBound(name as string),
    );
  });
}

/** A module that binds things that exist already. */
export function givenModule<Things extends object>(things: Partial<Things>): ContainerModule {
  return new ContainerModule(({ bind }) => {
    for (const [name, thing] of Object.entries(things)) bind(name).toConstantValue(thing);
  });
}

/** The things with these names that are bound. Throws for one that needs another that is not. */
export function resolveBound<Things, N extends keyof Things>(
  container: Container,
  names: readonly N[],
): Partial<Pick<Things, N>> {
  const bound = names.filter((name) => container.isBound(name as string));
  return Object.fromEntries(bound.map((name) => [name, container.get(name as string)])) as Partial<Pick<Things, N>>;
}
