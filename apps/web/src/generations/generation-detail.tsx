import { appName, appQuery, useApps, type UsableApps } from '../apps/usable-apps.js';
import { Fact } from '../parts/fact.js';
import { Card } from '../parts/card.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import { timeText } from '../format.js';
import { goTo, hrefOf } from '../router.js';
import type { Overview } from '../server-types.js';
import { useData } from '../use-data.js';
import { OutputList } from './output-list.js';
import { TaskActions } from './task-actions.js';
import { TaskInput } from './task-input.js';
import { TaskProgress } from './task-progress.js';
import { costText, STATUS_TEXTS } from './task-text.js';
import { Timeline } from './timeline.js';
import { useFollowedTask } from './use-followed-task.js';

interface DetailProps {
  readonly id: string;
  readonly overview: Overview;
}

/** One generation: what was made, when what happened, and what it cost. */
export function GenerationDetail({ id, overview }: DetailProps) {
  const apps = useApps();
  const found = useData<{ readonly app_id: string }>(`/generations/${encodeURIComponent(id)}`);
  return (
    <>
      <p class="back">
        <SectionLink name="generations" query={{ app: backTo(apps.value, found.value?.app_id) }}>
          All generations
        </SectionLink>
      </p>
      <Loaded data={found} what="the generation">
        {({ app_id: appId }) => <Found id={id} appId={appId} apps={apps.value} overview={overview} />}
      </Loaded>
    </>
  );
}

function backTo(apps: UsableApps | undefined, appId: string | undefined): string | undefined {
  return apps === undefined || appId === undefined ? appId : appQuery(apps, appId, 'console');
}

interface FoundProps extends DetailProps {
  readonly appId: string;
  readonly apps: UsableApps | undefined;
}

function Found({ id, appId, apps, overview }: FoundProps) {
  const followed = useFollowedTask(appId, id);
  const { currency } = overview.account;
  const app = apps?.apps.find((one) => one.id === appId);
  const isCancelling = followed.times.some(({ type }) => type === 'cancel_requested');
  const deleted = async (): Promise<void> => {
    goTo(hrefOf('generations', { query: { app: backTo(apps, appId) } }), 'The generation is deleted.');
  };
  return (
    <Loaded data={{ value: followed.task, fault: followed.fault, reload: followed.reload }} what="the generation">
      {(task) => (
        <>
          <Card id="result" title={STATUS_TEXTS[task.status]} note={`${task.model_key}, ${timeText(task.created_at)}`}>
            <TaskProgress
              task={task}
              progress={followed.progress}
              position={followed.position}
              isCancelling={isCancelling}
            />
            {task.error === undefined ? null : <p class="fault">{task.error.message}</p>}
            <OutputList task={task} reload={followed.reload} />
            <div class="actions">
              <TaskActions
                appId={appId}
                task={task}
                isCancelling={isCancelling}
                took={followed.take}
                deleted={deleted}
              />
            </div>
          </Card>
          <Card id="facts" title="Facts">
            <dl class="facts">
              <Fact name="Cost" text={costText(task, currency)} />
              <Fact name="Model" text={task.model_key} />
              {app === undefined ? null : <Fact name="App" text={appName(app)} />}
              {task.client_trace_id === undefined ? null : <Fact name="Trace id" text={task.client_trace_id} />}
              <Fact name="Id" text={task.generation_id} />
            </dl>
          </Card>
          <Card id="timeline" title="Timeline">
            <Timeline task={task} times={followed.times} />
          </Card>
          {app?.kind === 'console' ? <TaskInput id={id} /> : null}
        </>
      )}
    </Loaded>
  );
}
