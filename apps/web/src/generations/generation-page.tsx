import { Page, type PageProps } from '../parts/parts.js';
import { useData } from '../use-data.js';
import type { GenerationDetail } from '../server-types.js';
import { GenerationView, promptOf } from './generation-view.js';

/** One generation on a page of its own. */
export function GenerationPage({ id }: PageProps & { readonly id: string }) {
  const { value } = useData<GenerationDetail>(`/generations/${encodeURIComponent(id)}`);
  return (
    <Page title={promptOf(value)} above={{ page: 'generations', text: 'Generations' }} width="full">
      <GenerationView id={id} />
    </Page>
  );
}
