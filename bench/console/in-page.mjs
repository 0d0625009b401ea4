// What runs inside the page. Each is sent to the browser as text, so none may use anything from around it.

/** Notes when the first rows of a page are painted: `firstRowsMillis` after the navigation began. */
export function noteFirstRows(selector) {
  const look = () => {
    if (document.querySelector(selector) === null) return requestAnimationFrame(look);
    // The paint follows the frame's callbacks; what is posted here runs after it.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      window.firstRowsMillis = performance.now();
    };
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
}

/** From the next click's own time until what it brings is painted, milliseconds. */
export function noteClick(selector) {
  window.clickedMillis = undefined;
  let clickedAt;
  addEventListener(
    'click',
    (event) => {
      clickedAt = event.timeStamp;
    },
    { capture: true, once: true },
  );
  const look = () => {
    if (clickedAt === undefined || document.querySelector(selector) === null) {
      return requestAnimationFrame(look);
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      window.clickedMillis = performance.now() - clickedAt;
    };
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
}

/** The times of all frames from now on, until `stopFrames`. */
export function startFrames() {
  const times = [];
  window.frameTimes = times;
  const frame = (time) => {
    if (window.frameTimes !== times) return;
    times.push(time);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

export function stopFrames() {
  const times = window.frameTimes;
  window.frameTimes = undefined;
  return times;
}
