import { useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { numberText, timeText } from '../format.js';
import { Card, Fact, focusOn, Loaded, PageLink } from '../parts/parts.js';
import { useData } from '../use-data.js';
import { CancelButton } from './act-button.js';
import type { Content, Generation } from './server-types.js';
import { hrefOfPlace } from './use-pages.js';

interface GenerationPageProps {
  readonly id: string;
  readonly refused: () => void;
}

/** One generation of any account; what its client asked for only on request. */
export function GenerationPage({ id, refused }: GenerationPageProps) {
  const path = `/operator/generations/${encodeURIComponent(id)}`;
  const generation = useData<{ readonly generation: Generation }>(path);
  const done = async (sentence: string): Promise<void> => {
    await generation.reload();
    announce(sentence);
    focusOn('generation');
  };
  return (
    <>
      <p class="back">
        <PageLink href={hrefOfPlace({ name: 'work' })}>Open work</PageLink>
      </p>
      <Loaded data={generation} what="the generation">
        {({ generation: shown }) => (
          <>
            <GenerationCard generation={shown} done={done} refused={refused} />
            <ContentCard path={`${path}/content`} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface GenerationCardProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
  readonly refused: () => void;
}

function GenerationCard({ generation: g, done, refused }: GenerationCardProps) {
  const isOpen = g.status === 'queued' || g.status === 'running';
  return (
    <Card id="generation" title={`${g.model_key}, ${g.status}`}>
      {g.error === undefined ? null : <p class="fault">{`${g.error.message} (${g.error.code})`}</p>}
      <dl class="facts">
        <Fact name="Generation id" text={g.generation_id} />
        <div>
          <dt>Account</dt>
          <dd>
            <PageLink href={hrefOfPlace({ name: 'accounts', id: g.account_id })}>{g.account_id}</PageLink>
          </dd>
        </div>
        <Fact name="App" text={g.app_id} />
        <Fact name="Created" text={timeText(g.created_at)} />
        {g.completed_at === undefined ? null : <Fact name="Ended" text={timeText(g.completed_at)} />}
        {g.cancel_requested_at === undefined ? null : (
          <Fact name="Cancel asked" text={timeText(g.cancel_requested_at)} />
        )}
        <Fact
          name={isOpen ? 'Reserved' : 'Charged'}
          text={numberText(isOpen ? g.reserved_credits : g.charged_credits)}
        />
        <Fact name="Attempts" text={numberText(g.attempts)} />
        {g.provider === undefined ? null : <Fact name="Provider" text={g.provider} />}
        {g.worker === undefined ? null : <Fact name="Worker" text={g.worker} />}
        <Fact name="Outputs" text={numberText(g.output_count)} />
        {g.client_trace_id === undefined ? null : <Fact name="Trace id" text={g.client_trace_id} />}
      </dl>
      {isOpen ? (
        <div class="actions below">
          <CancelButton generation={g} done={done} refused={refused} />
        </div>
      ) : null}
    </Card>
  );
}

function ContentCard({ path }: { readonly path: string }) {
  const [isWanted, setWanted] = useState(false);
  return (
    <Card id="content" title="What its client asked for" note="It belongs to the client. That you read it is recorded.">
      {isWanted ? (
        <ShownContent path={path} />
      ) : (
        <button type="button" class="outline secondary small" onClick={() => setWanted(true)}>
          Show the prompt
        </button>
      )}
    </Card>
  );
}

function ShownContent({ path }: { readonly path: string }) {
  const content = useData<Content>(path);
  return (
    <Loaded data={content} what="the prompt">
      {({ prompt, negative_prompt: negative, parameters, reference_upload_ids: references }) => (
        <dl class="facts tall">
          <Fact name="Prompt" text={prompt === '' ? 'no longer kept' : prompt} />
          {negative === undefined ? null : <Fact name="Negative prompt" text={negative} />}
          <Fact name="Parameters" text={JSON.stringify(parameters)} />
          {references.length === 0 ? null : <Fact name="References" text={references.join(' ')} />}
        </dl>
      )}
    </Loaded>
  );
}
