import type { Model } from '../api-types.js';
import { useApps } from '../apps/usable-apps.js';
import { Loaded } from '../parts/loaded.js';
import { place } from '../router.js';
import type { GenerationInput, Overview } from '../server-types.js';
import { useData } from '../use-data.js';
import { Playground } from './playground.js';

interface PlaygroundSectionProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** Makes pictures and videos in the App of this page. */
export function PlaygroundSection({ overview, reload }: PlaygroundSectionProps) {
  const apps = useApps();
  const models = useData<{ readonly models: readonly Model[] }>('/api/v1/developer/models');
  const again = place.value.query['again'];
  if (overview.account.is_suspended)
    return (
      <p class="fault" role="alert">
        The account is suspended: nothing can be made until the operator resumes it.
      </p>
    );
  return (
    <Loaded data={apps} what="Apps">
      {({ apps: [own] }) => (
        <Loaded data={models} what="models">
          {({ models: all }) => {
            const [first] = all;
            if (own === undefined || first === undefined) return <p class="card empty">No model is on offer yet.</p>;
            const parts = { appId: own.id, models: all, first, overview, reload };
            return again === undefined ? (
              <Playground key="" {...parts} known={undefined} />
            ) : (
              <Again key={again} id={again} {...parts} />
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

interface AgainProps extends PlaygroundSectionProps {
  readonly id: string;
  readonly appId: string;
  readonly models: readonly Model[];
  readonly first: Model;
}

/** With what an earlier generation was asked for. */
function Again({ id, ...parts }: AgainProps) {
  const data = useData<{ readonly input: GenerationInput | null }>(
    `/playground/generations/${encodeURIComponent(id)}/input`,
  );
  return (
    <>
      <Loaded data={data} what="what was asked for">
        {({ input }) => (
          <>
            {input === null ? <p class="notice">What it was asked for is not kept any more.</p> : null}
            <Playground {...parts} known={input ?? undefined} />
          </>
        )}
      </Loaded>
      {data.value === undefined && data.fault !== undefined ? <Playground {...parts} known={undefined} /> : null}
    </>
  );
}
