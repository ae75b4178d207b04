import { useState } from 'preact/hooks';
import type { Json } from '../api-types.js';
import { numberText, preciseTimeText } from '../format.js';
import { isOpen, STATUS_TEXTS, TIMELINE_TEXTS } from '../generations/generation-texts.js';
import { Button, Copyable, CopyableId } from '../parts/buttons.js';
import { Card, Facts, Fault, Loaded } from '../parts/parts.js';
import { afterChange, useData } from '../use-data.js';
import { AreaPage, linkTo } from './area-page.js';
import { ageText, cancel, type Generation, POLL_MS, statusBadge } from './queue.js';

interface Answer {
  readonly now: string;
  readonly generation: Generation;
}

/** One generation of any account; its request only when the operator asks for it. */
export function GenerationPage({ id }: { id: string }) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const data = useData<Answer>(path, { everyMs: POLL_MS });
  const [isWanted, setWanted] = useState(false);
  const shown = data.value?.generation;
  return (
    <AreaPage
      title="Generation"
      above={{ page: 'operator-queue', text: 'Queue' }}
      actions={
        shown !== undefined && isOpen(shown) ? (
          <Button kind="danger" onClick={() => cancel(shown, afterChange(data.reload, 'page-title'))}>
            Cancel…
          </Button>
        ) : undefined
      }
    >
      <Loaded data={data} what="the generation">
        {({ generation, now }) => (
          <>
            <Fault text={generation.error?.message}>
              <code>{generation.error?.code}</code>
            </Fault>
            <div class="columns wide-first">
              <Card id="generation" title={generation.model_key} actions={statusBadge(generation)}>
                <Facts facts={factsOf(generation, now)} />
              </Card>
              <Timeline generation={generation} />
            </div>
            <Card id="request" title="Request" note="It belongs to the client. Reading it is recorded in the log.">
              {isWanted ? (
                <Request path={`${path}/content`} />
              ) : (
                <Button isSmall onClick={() => setWanted(true)}>
                  Show request
                </Button>
              )}
            </Card>
          </>
        )}
      </Loaded>
    </AreaPage>
  );
}

function factsOf(g: Generation, now: string) {
  const hasEnded = !isOpen(g);
  return [
    ['Account', linkTo('operator-accounts', g.account_id, g.account_id)],
    ['Reserved', numberText(g.reserved_credits)],
    ['Charged', hasEnded ? numberText(g.charged_credits) : undefined],
    ['Age', hasEnded ? undefined : ageText(g.created_at, now)],
    ['Attempts', numberText(g.attempts)],
    ['Provider', g.provider],
    ['Worker', g.worker],
    ['Outputs', numberText(g.output_count)],
    ['Generation id', <CopyableId key="id" id={g.generation_id} />],
    ['App id', <CopyableId key="app" id={g.app_id} />],
    ['Trace id', g.client_trace_id],
  ] as const;
}

/** What an operator sees of the times of a generation. */
function Timeline({ generation: g }: { generation: Generation }) {
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
                {before === undefined ? preciseTimeText(at) : `+ ${ageText(before, at)}`}
              </time>
            </li>
          );
        })}
      </ol>
    </Card>
  );
}

interface Content {
  readonly prompt: string;
  readonly negative_prompt?: string;
  readonly parameters: Json;
  readonly reference_upload_ids: readonly string[];
}

function Request({ path }: { path: string }) {
  return (
    <Loaded data={useData<Content>(path)} what="the request">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <>
          <Facts
            facts={[
              ['Prompt', prompt === '' ? 'None, or the request is no longer stored.' : prompt],
              ['Negative prompt', negative],
              ['References', references.join(', ') || undefined],
            ]}
          />
          <Copyable text={JSON.stringify(parameters, null, 2)} what="the parameters" />
        </>
      )}
    </Loaded>
  );
}
