#pragma once
// Positions in lists, as types of their own: the id of a tensor cannot be taken for that of a value.
//
//   using TensorId = Id<struct TensorTag>;
//   IndexedBy<TensorId, Sharding> shardings;     shardings[tensor]
//   for (TensorId id : shardings.ids()) ...

#include <compare>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

namespace mtfc {

/// The position of something in its list, or nothing: Id(). A position becomes an id, and an id a position, only
/// if the code says so.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::integral auto position) : position_(static_cast<int>(position)) {}

  constexpr size_t index() const { return static_cast<size_t>(position_); }
  /// The position, or -1 for nothing: as files and messages state it.
  constexpr int number() const { return position_; }
  constexpr bool is_nothing() const { return position_ < 0; }
  constexpr Id& operator++() {
    ++position_;
    return *this;
  }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  int position_ = -1;
};

/// All ids of a list of `count` elements, in order.
template <typename IdType>
class IdRange {
 public:
  struct Iterator {
    IdType id;
    IdType operator*() const { return id; }
    Iterator& operator++() {
      ++id;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  explicit IdRange(size_t count) : count_(count) {}
  Iterator begin() const { return {IdType(0)}; }
  Iterator end() const { return {IdType(count_)}; }

 private:
  size_t count_;
};

/// A vector whose elements have ids of their own type. Plain positions work too; other ids don't.
template <typename IdType, typename T>
class IndexedBy : public std::vector<T> {
 public:
  using Base = std::vector<T>;
  using Base::Base;
  IndexedBy() = default;
  IndexedBy(Base elements) : Base(std::move(elements)) {}

  using Base::operator[];
  typename Base::reference operator[](IdType id) { return Base::operator[](id.index()); }
  typename Base::const_reference operator[](IdType id) const { return Base::operator[](id.index()); }

  /// Appends an element and returns its id.
  IdType add(T element) {
    Base::push_back(std::move(element));
    return IdType(Base::size() - 1);
  }
  IdRange<IdType> ids() const { return IdRange<IdType>(Base::size()); }
  bool has(IdType id) const { return !id.is_nothing() && id.index() < Base::size(); }
};

}  // namespace mtfc
