package browsertest

import "testing"

// overlapping lists pairs of visible texts whose boxes cover each other, and
// texts that stick out of the page. Texts in boxes that cut them at their end
// count as far as they can be seen.
const overlapping = `(function () {
  var found = [], boxes = [], cutting = new Map();
  function cuts(p) {
    if (!cutting.has(p)) cutting.set(p, p.tagName === 'svg' || /auto|hidden|scroll/.test(getComputedStyle(p).overflow));
    return cutting.get(p);
  }
  // What is off the screen is laid out like the rest while this looks.
  var sheet = new CSSStyleSheet();
  sheet.replaceSync('* {content-visibility: visible !important}');
  document.adoptedStyleSheets = [sheet];
  // Rows of a table that are scrolled out of sight have nothing to lie over.
  function unseen(el) {
    var box = el.parentElement && el.parentElement.closest('.rows');
    if (el.tagName !== 'TR' || !box) return false;
    var r = el.getBoundingClientRect(), c = box.getBoundingClientRect();
    return r.top > c.bottom || r.bottom < c.top;
  }
  function clip(r, el) {
    var out = {left: r.left, top: r.top, right: r.right, bottom: r.bottom};
    for (var p = el; p && p !== document.documentElement; p = p.parentElement) {
      if (!cuts(p)) continue;
      var c = p.getBoundingClientRect();
      if (p.tagName === 'svg' && p.ownerSVGElement) {
        var m = p.getScreenCTM(), w = p.width.baseVal.value, h = p.height.baseVal.value, x = p.x.baseVal.value, y = p.y.baseVal.value;
        var o = p.ownerSVGElement.getScreenCTM();
        c = {left: o.e + x, top: o.f + y, right: o.e + x + w, bottom: o.f + y + h};
      }
      out.left = Math.max(out.left, c.left); out.top = Math.max(out.top, c.top);
      out.right = Math.min(out.right, c.right); out.bottom = Math.min(out.bottom, c.bottom);
    }
    return out;
  }
  var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, function (n) {
    return n.nodeType === 1 && unseen(n) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  });
  for (var n = walker.nextNode(); n; n = walker.nextNode()) {
    if (n.nodeType !== 3) continue;
    var el = n.parentElement;
    if (!n.data.trim() || /^(SCRIPT|STYLE|TITLE|title|OPTION)$/.test(el.tagName) || el.closest('.sr,.skip,tbody tr[hidden]')) continue;
    var folded = el.closest('details:not([open])');
    if (folded && !(el.closest('summary') && el.closest('summary').parentElement === folded)) continue;
    var style = getComputedStyle(el);
    if (style.visibility === 'hidden' || style.display === 'none') continue;
    var range = document.createRange();
    range.selectNodeContents(n);
    Array.prototype.forEach.call(range.getClientRects(), function (r) {
      if (r.width < 1 || r.height < 1) return;
      var c = clip(r, el);
      if (c.right - c.left < 1 || c.bottom - c.top < 1) return;
      if (c.right > innerWidth + 1 || c.left < -1) found.push('sticks out: ' + n.data.trim().slice(0, 60));
      boxes.push({r: c, el: el, text: n.data.trim().slice(0, 60)});
    });
  }
  boxes.sort(function (p, q) { return p.r.top - q.r.top; });
  for (var i = 0; i < boxes.length; i++) for (var j = i + 1; j < boxes.length && boxes[j].r.top < boxes[i].r.bottom; j++) {
    var p = boxes[i], q = boxes[j];
    if (p.el === q.el || p.el.contains(q.el) || q.el.contains(p.el)) continue;
    var w = Math.min(p.r.right, q.r.right) - Math.max(p.r.left, q.r.left), h = Math.min(p.r.bottom, q.r.bottom) - Math.max(p.r.top, q.r.top);
    if (w > 1 && h > 3) found.push(p.text + ' / ' + q.text + ' by ' + Math.round(w) + ' x ' + Math.round(h));
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  document.adoptedStyleSheets = [];
  return found;
})()`

// Overlaps lists what lies over each other on the page, or sticks out of it.
func (tab *Tab) Overlaps(t *testing.T) []string {
	t.Helper()
	return Eval[[]string](t, tab, overlapping)
}
