import type { Model } from '../api-types.js';
import { AppPicker, pickedApp, useApps } from '../apps/usable-apps.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import { place } from '../router.js';
import type { Overview } from '../server-types.js';
import { useData } from '../use-data.js';
import { currentFilter, Filters, isFiltered, type Filter } from './filters.js';
import { GenerationDetail } from './generation-detail.js';
import { GenerationGrid } from './generation-grid.js';
import { useGenerations } from './use-generations.js';

/** What was made, as a grid; or one of them, which the address names. */
export function GenerationsSection({ overview }: { readonly overview: Overview }) {
  const { id } = place.value;
  return id === undefined ? (
    <GenerationList currency={overview.account.currency} />
  ) : (
    <GenerationDetail key={id} id={id} overview={overview} />
  );
}

function GenerationList({ currency }: { readonly currency: string }) {
  const apps = useApps();
  const models = useData<{ readonly models: readonly Model[] }>('/api/v1/developer/models');
  return (
    <Loaded data={apps} what="Apps">
      {(usable) => {
        const picked = pickedApp(usable, 'console');
        const filter = currentFilter();
        return (
          <>
            <section class="card narrow" aria-label="What is shown">
              <AppPicker apps={usable} picked={picked} usual="console" />
              <Filters models={models.value?.models ?? []} />
            </section>
            <OfApp
              key={JSON.stringify([picked, filter])}
              appId={picked}
              filter={filter}
              isPlayground={picked === usable.apps[0]?.id}
              currency={currency}
            />
          </>
        );
      }}
    </Loaded>
  );
}

interface OfAppProps {
  readonly appId: string;
  readonly filter: Filter;
  readonly isPlayground: boolean;
  readonly currency: string;
}

function OfApp({ appId, filter, isPlayground, currency }: OfAppProps) {
  const generations = useGenerations(appId, filter);
  const { tasks, fault, reload } = generations;
  return (
    <Loaded data={{ value: tasks, fault, reload }} what="generations">
      {(shown) =>
        shown.length === 0 && !generations.hasMore ? (
          <p class="card empty">
            {isFiltered(filter) ? 'Nothing matches these filters.' : 'Nothing was made here yet.'}
            {isPlayground && !isFiltered(filter) ? (
              <>
                {' '}
                <SectionLink name="playground">Make a first picture in the playground</SectionLink>.
              </>
            ) : null}
          </p>
        ) : (
          <GenerationGrid generations={generations} tasks={shown} currency={currency} />
        )
      }
    </Loaded>
  );
}
