import { useState } from 'preact/hooks';
import { CircleAlert } from 'lucide-preact';
import { STATUS_TEXTS, TIMELINE_TEXTS } from '../generations/generation-texts.js';
import { numberText, preciseTimeText, spanText } from '../format.js';
import { Button, Copyable, CopyableId } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Card, Facts, Loaded } from '../parts/parts.js';
import { afterChange, useData } from '../use-data.js';
import { ActDialog } from './acts.js';
import { AreaPage, linkTo } from './places.js';
import { cancelAct, isOpen, POLL_MS, StatusBadge } from './queue.js';
import { ageText, type Content, type Generation } from './server-types.js';

interface Answer {
  readonly now: string;
  readonly generation: Generation;
}

/** One generation of any account; its request only when the operator asks for it. */
export function GenerationPage({ id }: { readonly id: string }) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const data = useData<Answer>(path, { everyMs: POLL_MS });
  const [isCancelling, setCancelling] = useState(false);
  const shown = data.value?.generation;
  const cancel =
    shown !== undefined && isOpen(shown) ? (
      <Button kind="danger" onClick={() => setCancelling(true)}>
        Cancel…
      </Button>
    ) : undefined;
  return (
    <AreaPage title="Generation" above={{ page: 'operator-queue', text: 'Queue' }} actions={cancel}>
      <Loaded data={data} what="the generation">
        {({ generation, now }) => (
          <>
            {generation.error === undefined ? null : (
              <p class="attention bad">
                <Icon of={CircleAlert} />
                <span>
                  {generation.error.message} <code>{generation.error.code}</code>
                </span>
              </p>
            )}
            <div class="columns wide-first">
              <FactsCard generation={generation} now={now} />
              <TimelineCard generation={generation} />
            </div>
            <RequestCard path={`${path}/content`} />
          </>
        )}
      </Loaded>
      <ActDialog
        act={isCancelling && shown !== undefined ? cancelAct(shown) : undefined}
        close={() => setCancelling(false)}
        done={afterChange(data.reload, 'page-title')}
      />
    </AreaPage>
  );
}

function FactsCard({ generation: g, now }: Answer) {
  const open = isOpen(g);
  return (
    <Card id="generation" title={g.model_key} actions={<StatusBadge generation={g} />}>
      <Facts
        facts={[
          ['Account', linkTo('operator-accounts', g.account_id, g.account_id)],
          ['Reserved', numberText(g.reserved_credits)],
          ['Charged', open ? undefined : numberText(g.charged_credits)],
          ['Age', open ? ageText(g.created_at, now) : undefined],
          ['Attempts', numberText(g.attempts)],
          ['Provider', g.provider],
          ['Worker', g.worker],
          ['Outputs', numberText(g.output_count)],
          ['Generation id', <CopyableId key="id" id={g.generation_id} />],
          ['App id', <CopyableId key="app" id={g.app_id} />],
          ['Trace id', g.client_trace_id],
        ]}
      />
    </Card>
  );
}

/** What an operator sees of the times of a generation. */
function TimelineCard({ generation: g }: Pick<Answer, 'generation'>) {
  const times = [
    { text: TIMELINE_TEXTS.created, at: g.created_at },
    { text: TIMELINE_TEXTS.cancel_requested, at: g.cancel_requested_at },
    { text: STATUS_TEXTS[g.status], at: g.completed_at, look: g.status },
  ].filter((one): one is { text: string; at: string; look?: Generation['status'] } => one.at !== undefined);
  return (
    <Card id="timeline" title="Timeline">
      <ol class="timeline">
        {times.map(({ text, at, look }, index) => {
          const before = times[index - 1]?.at;
          return (
            <li key={text} class={look}>
              <span>{text}</span>
              <time dateTime={at} title={preciseTimeText(at)}>
                {before === undefined ? preciseTimeText(at) : `+ ${spanText(Date.parse(at) - Date.parse(before))}`}
              </time>
            </li>
          );
        })}
      </ol>
    </Card>
  );
}

function RequestCard({ path }: { readonly path: string }) {
  const [isWanted, setWanted] = useState(false);
  return (
    <Card id="request" title="Request" note="It belongs to the client. Reading it is recorded in the log.">
      {isWanted ? (
        <Request path={path} />
      ) : (
        <Button isSmall onClick={() => setWanted(true)}>
          Show request
        </Button>
      )}
    </Card>
  );
}

function Request({ path }: { readonly path: string }) {
  const content = useData<Content>(path);
  return (
    <Loaded data={content} what="the request">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <>
          <Facts
            facts={[
              ['Prompt', prompt === '' ? 'None, or the request is no longer stored.' : prompt],
              ['Negative prompt', negative],
              ['References', references.length === 0 ? undefined : references.join(', ')],
            ]}
          />
          <Copyable text={JSON.stringify(parameters, null, 2)} what="the parameters" />
        </>
      )}
    </Loaded>
  );
}
