import { provideModule } from 'darkroom/adapters/provide';
import { TOKENS, type Ports } from 'darkroom/core/ports/tokens';
import { PrefixedObjectStore } from './prefixed-object-store.js';
import { StillProvider } from './still-provider.js';

/** What was opened before: a store to share, and a picture to deliver. */
export interface ExampleOptions {
  readonly objects: Ports['objects'];
  readonly prefix: string;
  readonly picture: Uint8Array;
}

export function exampleModule({ objects, prefix, picture }: ExampleOptions) {
  const still = new StillProvider(picture, 'image/png');
  return provideModule((provide) => {
    provide(TOKENS.objects, [], () => new PrefixedObjectStore(objects, prefix));
    provide(TOKENS.providers, [], () => ({ find: (name) => (name === 'still' ? still : undefined) }));
  });
}
